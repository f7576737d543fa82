import crypto from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';
import { randomUid } from '@flotilla/control-plane/simulators';
import type { Clock } from '@flotilla/pace';

/**
 * Puts a simulation's time and lot in the place of the machine's, for all code of this thread, until disposed: what a program asks the
 * machine directly would differ from run to run.
 * @param random in [0, 1), seeded
 */
export function simulateMachine(clock: Clock, random: () => number): Disposable {
  const started = clock.now();
  const immediate = (fn: (...args: unknown[]) => void, ...args: unknown[]) => clock.setTimer(0, () => fn(...args));
  const undo = [
    put(Math, 'random', random),
    put(Date, 'now', () => clock.now()),
    put(performance, 'now', () => clock.now() - started),
    put(globalThis, 'setImmediate', immediate),
    put(crypto, 'randomUUID', () => randomUid(random)),
  ];
  syncBuiltinESMExports();
  return {
    [Symbol.dispose]() {
      for (const restore of undo) restore();
      syncBuiltinESMExports();
    },
  };
}

/** Replaces a property; the result puts it back as it was, on the object or on what it inherits from. */
function put(object: object, key: string, value: unknown): () => void {
  const before = Object.getOwnPropertyDescriptor(object, key);
  Object.defineProperty(object, key, { value, configurable: true, writable: true });
  return () => {
    if (before) Object.defineProperty(object, key, before);
    else Reflect.deleteProperty(object, key);
  };
}
