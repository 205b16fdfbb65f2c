"""`kedge serve`: a cluster in one process, for tests of clients and tools.

command    options, and what is printed at the start and at the end
options    addresses, racks and topics as texts, and all options as values
sharing    several processes on one store; who may connect, and do what
left       a store that a cluster was moved away from is refused
moving     the cluster goes to another store
beginning  topics that are created at the start
running    what runs: cluster, gateway, pages; and its end
status     what the status page shows, as JSON
moves      of it: running reassignments, with their rates
loads      of it: brokers, topics, throttles
words      events and counts in words for people
page       the files of the status page
pages      a small HTTP server on a thread
"""

from controller.cli.serve.command import serve

__all__ = ["serve"]
