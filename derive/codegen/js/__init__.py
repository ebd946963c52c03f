"""Terms to JavaScript."""

from derive.codegen.js.writer import javascript

__all__ = ["javascript"]
