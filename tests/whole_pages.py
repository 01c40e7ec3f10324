"""The whole page of a study: its findings as text, all its pieces, the JSON beside it."""

import json

import jsonschema
from made_once import ROOT

from evalkit.drawing import shown
from evalkit.drawing.pieces import Html
from evalkit.pages import classification_page

SCHEMA = jsonschema.Draft202012Validator(
    json.loads((ROOT / "evalkit" / "schema.json").read_text(encoding="utf-8"))
)


def told(study) -> str:
    """The findings of a study, each with its code."""
    module, *_ = classification_page.PAGES.get(type(study), [shown.page(study.report)])
    return "\n".join(
        f"{finding.message} [{finding.kind.code}]" for finding in module.every_finding(study)
    )


def whole(study) -> tuple[str, str]:
    """Every piece of the page, as text and as HTML."""
    pieces = [piece(study) for piece in shown.page(study.report).PIECES]
    words = [piece.text if isinstance(piece, Html) else piece.alt for piece in pieces]
    return "\n".join(words), "\n".join(piece.html for piece in pieces)


def results(study) -> dict:
    """The JSON of a study, which holds no NaN."""
    made = (
        shown.page(study.report).results(study)._repr_mimebundle_()["application/vnd.evalkit+json"]
    )
    return json.loads(json.dumps(made, allow_nan=False))


def published(study) -> dict:
    """The JSON of a study, which is what the schema says."""
    made = results(study)
    SCHEMA.validate(made)
    return made
