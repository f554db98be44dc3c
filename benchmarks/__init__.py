"""Measurements that are run by hand and print tables; nothing here is part of the tests."""
