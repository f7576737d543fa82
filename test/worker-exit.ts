// Vitest ends its workers by SIGTERM, of which a process dies without its exit handlers: the folder of its run would stay.
if (process.listenerCount('SIGTERM') === 0) process.once('SIGTERM', () => process.exit(0));
