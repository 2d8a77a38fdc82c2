"""`python -m gradwire_service`: the command line where the `gradwire` script is not on the path."""

from gradwire_service.cli import main

main()
