"""Messages as msgpack: one command or a list of events at a time."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from engine.worker.messages import Command, Event


def encode_command(command: Command) -> bytes:
    """Return `command` as msgpack."""
    return msgspec.msgpack.encode(command)


def decode_command(data: bytes) -> Command:
    """Return the command in `data`; raises msgspec.DecodeError on anything else."""
    return msgspec.msgpack.decode(data, type=Command)


EncodedEvent = msgspec.Raw


def encode_event(event: Event) -> EncodedEvent:
    """Return `event` as msgpack, for join_events; raises OverflowError for a number beyond 64 bits, UnicodeEncodeError
    for text that is not valid.
    """
    return EncodedEvent(msgspec.msgpack.encode(event))


def join_events(events: Sequence[EncodedEvent]) -> bytes:
    """Return `events` as one msgpack message."""
    return msgspec.msgpack.encode(events)


def decode_events(data: bytes) -> tuple[Event, ...]:
    """Return the events in `data`; raises msgspec.DecodeError on anything else."""
    return msgspec.msgpack.decode(data, type=tuple[Event, ...])
