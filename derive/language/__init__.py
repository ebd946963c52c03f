"""The formula language: a text to a theory, and back."""

from derive.language.errors import LanguageError
from derive.language.loader import catalogue, condition, expression, load, load_catalogue, loads

__all__ = ["LanguageError", "catalogue", "condition", "expression", "load", "load_catalogue", "loads"]
