"""What the rows of several kinds have in common."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from kwsync.testing.apiserver._age import age
from kwsync.testing.apiserver._failure import JSON
from kwsync.testing.apiserver._lookup import at, mapping, records, text, texts

NONE = "<none>"
_TERMS = {"In": "{} in ({})", "NotIn": "{} notin ({})", "Exists": "{}", "DoesNotExist": "!{}"}


def name_of(document: JSON) -> str:
    """The name of an object."""
    return text(document, "metadata.name")


def created(document: JSON, now: datetime) -> str:
    """The age of an object."""
    return age(at(document, "metadata.creationTimestamp"), now)


def plain(value: object) -> str:
    """A string, or the empty one."""
    return value if isinstance(value, str) else ""


def pairs(labels: JSON) -> str:
    """`a=b,c=d` (labels.FormatLabels)."""
    return ",".join(f"{key}={plain(value)}" for key, value in sorted(labels.items())) or NONE


def containers(document: JSON) -> list[Any]:
    """The names and the images of a template's containers."""
    found = records(document, "spec.template.spec.containers")
    return [",".join(text(each, field) for each in found) for field in ("name", "image")]


def selector(document: JSON, absent: str, broken: str = "<error>") -> str:
    """A label selector as a text (metav1.FormatLabelSelector)."""
    labels, expressions = (
        mapping(document, "spec.selector.matchLabels"),
        records(document, "spec.selector.matchExpressions"),
    )
    terms = [(key, f"{key}={plain(value)}") for key, value in labels.items()]
    for expression in expressions:
        key, operator = text(expression, "key"), text(expression, "operator")
        if operator not in _TERMS:
            return broken
        terms.append((key, _TERMS[operator].format(key, ",".join(sorted(texts(expression, "values"))))))
    return ",".join(term for _, term in sorted(terms, key=lambda each: each[0])) or absent
