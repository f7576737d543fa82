import { completeSeen, inOrder, type Mutant } from './mutant.ts';

const workQueue = 'packages/runtime/src/work-queue.ts';

/** Faults in queues, timers, caches and leases (`packages/runtime`). */
export const runtimeMutants: readonly Mutant[] = [
  {
    name: 'what comes while a key runs is forgotten',
    seenBy: ['every upgrade ends', 'nothing is left', 'at rest'],
    file: workQueue,
    from: 'else if (run.again) this.add(key);',
    to: '',
  },
  {
    name: 'a failure is tried again never',
    seenBy: ['every upgrade ends', 'nothing is left'],
    file: workQueue,
    from: 'const afterMs = backOffMs(backOff, attempt, random);\n    this.#retryAfter(key, afterMs);',
    to: 'const afterMs = backOffMs(backOff, attempt, random);',
  },
  {
    name: 'a timer asked for later puts off the earlier',
    seenBy: ['every upgrade ends', 'nothing is left'],
    file: 'packages/runtime/src/timers.ts',
    from: 'if (current && current.at <= at) return;',
    to: '',
  },
  {
    name: 'an older event brings back what was written over',
    seenBy: ['never back', 'one job', 'at rest', inOrder, completeSeen],
    file: 'packages/runtime/src/object-store.ts',
    from: 'return version !== undefined && written > version;\n  }\n\n  #unindex',
    to: 'return false;\n  }\n\n  #unindex',
  },
  {
    name: 'after a 410 the old version is watched on',
    seenBy: ['every upgrade ends', 'nothing is left', 'at rest', 'comes to rest'],
    file: 'packages/runtime/src/watch-cache.ts',
    from: 'if (watching && (needsList(error) || this.#fruitless > FRUITLESS_WATCHES)) this.#listNext();',
    to: '',
  },
  {
    name: 'whoever looks has the lease',
    seenBy: ['one job', 'never back', 'one job at a time', 'comes to rest', 'every upgrade ends'],
    file: 'packages/runtime/src/leader-election.ts',
    from: 'if (this.#seen && !this.#isOurs() && !this.#isFree(this.#seen)) return false;',
    to: '',
  },
];
