"""`python -m derive` is the command `derive`."""

from derive.cli import main

if __name__ == "__main__":
    main()
