from qwed.cli import main

main()
