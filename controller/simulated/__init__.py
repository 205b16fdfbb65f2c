"""Simulated brokers: hosts of a controller in one process, which keep logs, copy bytes and obey the callbacks.

    broker, replica, log        the state of a broker, and how it obeys callbacks and fetches
    duties, leaving             a broker's own actions: register, request ISR changes, report, shut down
    network                     callbacks in transit: delayed, lost or duplicated
    copying, fetching           followers copy from leaders
    throttling, flows           within their quotas, and counted
    node, store                 the controllers and the store, as brokers see them
    clock, timeline, isolation  time, the events, and the scope of an exception

Time is an argument. `kedge.controller.rig` steps these brokers in virtual time, for tests; `kedge.controller.server`
runs them by the wall clock, for clients.
"""
