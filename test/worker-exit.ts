/** Ends this worker with its exit handlers, which remove the folder of its run. Vitest replaces `process.exit` while a test runs. */
function end(): void {
  process.emit('exit', 1);
  process.kill(process.pid, 'SIGKILL');
}

// Vitest ends its workers by SIGTERM, of which a process dies without its exit handlers: the folder of its run would stay.
if (process.listenerCount('SIGTERM') === 0) process.once('SIGTERM', end);
// A vitest that is ended itself says nothing to its workers: they would go on with their tests.
process.once('disconnect', end);
