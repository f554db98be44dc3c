"""What went wrong with the Hub, as sentences. Neither a token nor a header of the request is ever part of them."""

from __future__ import annotations

import re
import ssl
from collections.abc import Mapping

import httpx2

from engine.errors import (
    GatedRepository,
    HubTrouble,
    NotInRepository,
    Offline,
    RateLimited,
    RepositoryNotFound,
    SlipstreamError,
    TokenRefused,
)

_RETRY = "Try again in a moment."
_MAX_DETAIL = 300
_HOW = " (in a terminal: `hf auth login`, or the variable HF_TOKEN)"

# RateLimit: "api";r=0;t=55 (draft-ietf-httpapi-ratelimit-headers): t is when the window ends, in seconds.
_RATE_LIMIT_RESET = re.compile(r"\bt=(\d{1,7})\b")


class Busy(Exception):
    """Trying again later may help. `wait_s` is None where nobody says when; `failure` is for when patience ends."""

    def __init__(self, failure: SlipstreamError, wait_s: float | None = None) -> None:
        super().__init__(failure.sentence)
        self.failure = failure
        self.wait_s = wait_s


def failure_of_answer(
    status: int, headers: Mapping[str, str], url: str, *, repo: str = "", page_url: str = ""
) -> SlipstreamError:
    """Return the error for an answer of `status`, 400 or above.

    `repo` is what was asked for, "" if nothing in particular; `page_url` is where a person sees it.
    """
    code = headers.get("x-error-code", "")
    message = headers.get("x-error-message", "")
    detail = f"{status} from {_plain(url)}: {code} {message}"[:_MAX_DETAIL].strip(" :")
    content_type = headers.get("content-type", "")
    if status == 511 or (status < 500 and "html" in content_type and not code):
        return not_the_hub(url, content_type)
    if status == 429:
        return _rate_limited(headers, detail)
    if status >= 500 or status == 408:
        return HubTrouble("The Hugging Face Hub has trouble of its own.", remedy=_RETRY, detail=detail)
    if code == "GatedRepo":
        # 401 asks who it is; 403 knows from the token.
        return _no_access_yet(repo, page_url, detail) if status == 403 else _gated(repo, page_url, detail)
    if status == 401 and (not repo or "credentials" in message.lower()):
        return token_refused(detail)
    if status in (401, 403, 404):
        return _not_found(repo, code, detail)
    return HubTrouble(
        f"The Hugging Face Hub refused the request ({status}).",
        remedy="Try something else, or look whether there is a newer Slipstream.",
        detail=detail,
    )


def failure_of_exception(error: Exception, url: str) -> SlipstreamError:
    """Return the error for a request that got no answer, or none that can be read."""
    detail = f"{type(error).__name__} from {_plain(url)}: {error}"[:_MAX_DETAIL]
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ssl.SSLError):
            return HubTrouble(
                "The connection to the Hugging Face Hub is not safe: its certificate cannot be trusted.",
                remedy="Check this computer's clock. In a company, its proxy's certificate may be missing here.",
                detail=detail,
            )
        cause = cause.__cause__ or cause.__context__
    if isinstance(error, httpx2.TransportError):
        return _no_answer(error, detail)
    return HubTrouble("The Hugging Face Hub's answer cannot be understood.", remedy=_RETRY, detail=detail)


def _no_answer(error: httpx2.TransportError, detail: str) -> SlipstreamError:
    if isinstance(error, httpx2.ProxyError):
        return Offline(
            "The proxy does not let Slipstream through to the Hugging Face Hub.",
            remedy="Check the proxy settings (HTTPS_PROXY).",
            detail=detail,
        )
    if isinstance(error, httpx2.TimeoutException):
        return Offline(
            "The Hugging Face Hub does not answer.",
            remedy="Check the connection. What is on this computer can be used all the same.",
            detail=detail,
        )
    return Offline(
        "The Hugging Face Hub cannot be reached.",
        remedy="Check the connection to the internet. What is on this computer can be used all the same.",
        detail=detail,
    )


def failure_of_settings(error: Exception) -> SlipstreamError:
    """Return the error for a client that could not even be made: a proxy or certificates of a wrong kind."""
    detail = f"{type(error).__name__}: {error}"[:_MAX_DETAIL]
    if isinstance(error, OSError):
        return HubTrouble(
            "The certificates that this computer should trust cannot be read.",
            remedy="Check the variables SSL_CERT_FILE and SSL_CERT_DIR.",
            detail=detail,
        )
    return Offline(
        "The proxy settings cannot be used.",
        remedy="Check the variables ALL_PROXY, HTTPS_PROXY and HTTP_PROXY: http://, https:// and socks5:// work.",
        detail=_without_user(detail),
    )


def not_the_hub(url: str, content_type: str) -> SlipstreamError:
    """Return the error for a web page where the Hub's answer should be."""
    return Offline(
        "Something else answers in place of the Hugging Face Hub, as networks in hotels and trains do.",
        remedy="Open a web page in the browser and sign in to the network, then try again.",
        detail=f"{content_type or 'no content type'} from {_plain(url)}",
    )


def told_to_be_offline() -> SlipstreamError:
    """Return the error for HF_HUB_OFFLINE."""
    return Offline(
        "Slipstream was told not to use the network.",
        remedy="Remove HF_HUB_OFFLINE from the environment to look at the Hugging Face Hub.",
    )


def token_refused(detail: str = "") -> SlipstreamError:
    """Return the error for a token that is not valid."""
    return TokenRefused(
        "The Hugging Face Hub does not accept the token.",
        remedy="Make a new one at huggingface.co/settings/tokens (“read” is enough) and enter it, or remove it. "
        "A sign-in with `hf auth login` ends by itself: sign in again.",
        detail=detail,
    )


def retry_after_s(headers: Mapping[str, str]) -> int:
    """Return how long the Hub asks to wait, in seconds; 0 if it does not say."""
    told = headers.get("retry-after", "").strip()
    if told.isdigit() and len(told) < 8:
        return int(told)
    reset = _RATE_LIMIT_RESET.search(headers.get("ratelimit", ""))
    return int(reset[1]) if reset else 0


def _rate_limited(headers: Mapping[str, str], detail: str) -> SlipstreamError:
    wait_s = retry_after_s(headers)
    if wait_s >= 120:
        when = f"in {-(-wait_s // 60)} minutes"
    elif wait_s:
        when = f"in {wait_s} seconds"
    else:
        when = "in a few minutes"
    return RateLimited(
        "The Hugging Face Hub asks for a pause: there were too many requests from here.",
        remedy=f"Try again {when}. With a token of your own more are allowed.",
        detail=detail,
    )


def _gated(repo: str, page_url: str, detail: str) -> SlipstreamError:
    return GatedRepository(
        f"“{repo}” asks everybody to accept its terms first.",
        remedy=f"Accept them at {page_url}, then give Slipstream a token of that account{_HOW}.",
        detail=detail,
    )


def _no_access_yet(repo: str, page_url: str, detail: str) -> SlipstreamError:
    return GatedRepository(
        f"The account of your token has no access to “{repo}” yet.",
        remedy=f"Ask for it at {page_url} with that account. If you have done so, its owner has still to decide.",
        detail=detail,
    )


def _not_found(repo: str, code: str, detail: str) -> SlipstreamError:
    if not repo:
        return HubTrouble("The Hugging Face Hub does not know this request.", remedy=_RETRY, detail=detail)
    if code in ("EntryNotFound", "RevisionNotFound"):
        return NotInRepository(
            f"“{repo}” does not hold this any more.",
            remedy="Open the repository's page and choose from what is there now.",
            detail=detail,
        )
    return RepositoryNotFound(
        f"There is no repository “{repo}” on the Hugging Face Hub, or it is private.",
        remedy=f"Check its name. For a private one, give Slipstream a token of an account that may see it{_HOW}.",
        detail=detail,
    )


def _plain(url: str) -> str:
    """Return `url` without its query and without a user in it: signed addresses are secrets too."""
    return _without_user(re.split(r"[?#]", url[:_MAX_DETAIL], maxsplit=1)[0])


def _without_user(text: str) -> str:
    return re.sub(r"//[^/@\s]*@", "//", text)
