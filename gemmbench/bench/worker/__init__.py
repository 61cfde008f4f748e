"""Whatever runs a batch: in this process, or in one of its own that can be replaced.

worker     Worker: the protocol that both follow
local      LocalWorker: experiments in this process
remote     RemoteWorker: experiments in a worker process; blames, retries, replaces it
process    WorkerProcess: starts the process, sends and receives, ends it
messages   what the two processes send each other
serve      the worker process itself
"""
