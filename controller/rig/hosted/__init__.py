"""A rig with the brokers of a host under test: real controllers drive them in virtual time, and the rules for hosts are
checked at every step. The suite (`kedge.controller.rig.host_suite`) and seeded runs (`kedge.controller.rig.host_seeds`)
are scenarios on it.
"""
