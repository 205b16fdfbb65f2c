"""Simulated brokers: hosts of a controller in one process, which hold logs, copy bytes and obey the callbacks.

    broker, replica, log        what a broker holds, and how it obeys callbacks and fetches
    duties, leaving             what a broker does of itself: register, request ISR changes, report, shut down
    network                     callbacks on their way: delayed, lost or doubled
    copying, fetching           followers copy from leaders
    throttling, flows           within their quotas, and counted
    node, store                 the controllers and the store, as brokers see them
    clock, timeline, isolation  time, what happened, and what an exception ends

Time is passed in. `controller.rig` steps these brokers in virtual time, for tests; `controller.server` runs them by the
wall clock, for clients.
"""
