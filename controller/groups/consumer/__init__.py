"""Groups of the consumer protocol (KIP-848), in which the coordinator assigns the partitions.

values          records of these groups, and their parts
state           a group and its members in memory
assigning       the assignors `uniform` and `range`
reconciling     the way of a member to its target assignment
members         what changes a group, and how each member gets its partitions
heartbeats      ConsumerGroupHeartbeat: join, stay, leave
classic         JoinGroup, SyncGroup, Heartbeat and LeaveGroup of members that use the classic protocol in such a group
converting      groups of the classic protocol to this one and back, while their members go on
writes, writing what is to be written, and the answers that wait for it
"""
