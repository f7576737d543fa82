import { EventEmitter } from 'node:events';
import { systemClock } from '@flotilla/pace';
import { expect, test } from 'vitest';
import type { CriConnection } from '../socket/connection.ts';
import { ContentWriter } from './writer.ts';

/** A stream of the content store that answers nothing. */
class SilentStream extends EventEmitter {
  readonly sent: object[] = [];
  write(message: object): void {
    this.sent.push(message);
  }
  end(): void {
    this.cancel();
  }
  cancel(): void {
    this.emit('status');
  }
}

test('a stream that fails with messages under way is thrown once, and no message is left that nobody waits for', async () => {
  const stream = new SilentStream();
  const connection = { openDuplex: () => stream, translate: (error: unknown) => error, socket: 'test' } as unknown as CriConnection;
  const writer = new ContentWriter(connection, { lease: 'l', signal: new AbortController().signal, clock: systemClock });
  const unhandled: unknown[] = [];
  const note = (reason: unknown) => void unhandled.push(reason);
  process.on('unhandledRejection', note);
  try {
    await writer.write(0, Buffer.alloc(1));
    const second = writer.write(1, Buffer.alloc(1));
    expect(stream.sent).toHaveLength(2);
    stream.emit('error', new Error('no space left on device'));
    await expect(second).rejects.toThrow('no space left');
    // The source of the bytes is closed meanwhile, which takes its time.
    await new Promise((resolve) => setImmediate(resolve));
    await expect(writer.settle()).rejects.toThrow('no space left');
    await writer[Symbol.asyncDispose]();
    expect(unhandled).toEqual([]);
  } finally {
    process.off('unhandledRejection', note);
  }
});
