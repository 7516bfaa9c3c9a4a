"""What names may look like, and the sentences for those that do not (apimachinery's api/validate/content)."""

from __future__ import annotations

import functools
import re

_LABEL = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_DNS_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = rf"{_DNS_LABEL}(\.{_DNS_LABEL})*"
_ENDS = "must start and end with an alphanumeric character"
_KEY_WORDS = f"must consist of alphanumeric characters, '-', '_' or '.', and {_ENDS}"
_VALUE_WORDS = (
    f"a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and {_ENDS}"
)
_SUBDOMAIN_WORDS = (
    f"a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and {_ENDS}"
)
_DNS_LABEL_WORDS = f"a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and {_ENDS}"
_DNS_1035 = "[a-z]([-a-z0-9]*[a-z0-9])?"
_DNS_1035_WORDS = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character,"
    " and end with an alphanumeric character"
)
_KEY_EXAMPLES = ("MyName", "my.name", "123-abc")


@functools.lru_cache(maxsize=1024)
def label_key_errors(key: str) -> tuple[str, ...]:
    """What is wrong with a label's key (IsLabelKey): a name of 63 bytes, perhaps behind a domain and a slash."""
    *prefixes, name = key.split("/")
    if len(prefixes) > 1:
        example = " with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        return (f"a valid label key {_pattern(_KEY_WORDS, _LABEL, *_KEY_EXAMPLES)}{example}",)
    errors = [f"prefix part {error}" for prefix in prefixes for error in _prefix_errors(prefix)]
    if not name:
        errors.append("name part must be non-empty")
    elif _size(name) > 63:
        errors.append("name part must be no more than 63 bytes")
    if not re.fullmatch(_LABEL, name):
        errors.append(f"name part {_pattern(_KEY_WORDS, _LABEL, *_KEY_EXAMPLES)}")
    return tuple(errors)


@functools.lru_cache(maxsize=1024)
def label_value_errors(value: str) -> tuple[str, ...]:
    """What is wrong with a label's value (IsLabelValue)."""
    errors = ["must be no more than 63 bytes"] if _size(value) > 63 else []
    if not re.fullmatch(f"({_LABEL})?", value):
        errors.append(_pattern(_VALUE_WORDS, f"({_LABEL})?", "MyValue", "my_value", "12345"))
    return tuple(errors)


def subdomain_errors(name: str) -> list[str]:
    """What is wrong with the name of most kinds of objects (IsDNS1123Subdomain)."""
    errors = ["must be no more than 253 bytes"] if _size(name) > 253 else []
    if not re.fullmatch(_SUBDOMAIN, name):
        errors.append(_pattern(_SUBDOMAIN_WORDS, _SUBDOMAIN, "example.com"))
    return errors


def dns_label_errors(name: str) -> list[str]:
    """What is wrong with the name of a namespace or service (IsDNS1123Label)."""
    errors = ["must be no more than 63 bytes"] if _size(name) > 63 else []
    if re.fullmatch(_SUBDOMAIN, name) and "." in name:
        errors.append("must not contain dots")
    elif not re.fullmatch(_DNS_LABEL, name):
        errors.append(_pattern(_DNS_LABEL_WORDS, _DNS_LABEL, "my-name", "123-abc"))
    return errors


def dns_1035_errors(name: str) -> list[str]:
    """What is wrong with the name of a custom kind (IsDNS1035Label)."""
    errors = ["must be no more than 63 bytes"] if _size(name) > 63 else []
    if not re.fullmatch(_DNS_1035, name):
        errors.append(_pattern(_DNS_1035_WORDS, _DNS_1035, "my-name", "abc-123"))
    return errors


def _prefix_errors(prefix: str) -> list[str]:
    return subdomain_errors(prefix) if prefix else ["must be non-empty"]


def _pattern(words: str, pattern: str, *examples: str) -> str:
    """The server's RegexError, double blanks included."""
    listed = " or ".join(f"'{example}', " for example in examples)
    return f"{words} (e.g. {listed}regex used for validation is '{pattern}')"


def _size(text: str) -> int:
    return len(text.encode(errors="surrogatepass"))
