"""Certificates as Coq files: a second opinion on every proof, from a kernel that shares no code with ours."""
