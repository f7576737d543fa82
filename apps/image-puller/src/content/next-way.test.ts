import { RegistryError, RegistryErrorCode } from '@flotilla/registry';
import { expect, test } from 'vitest';
import { CorruptBlobError, NoSpaceError, PullerErrorCode, StoreError } from '../errors.ts';
import { isPassing, nextWay } from './next-way.ts';

const cut = new RegistryError(RegistryErrorCode.unreachable, 'the link is cut');
const neverReached = new RegistryError(RegistryErrorCode.unreachable, 'no route', {
  cause: Object.assign(new Error('no route'), { code: 'ENETUNREACH' }),
});
const limited = new RegistryError(RegistryErrorCode.rateLimited, 'the registry limits our rate');
const busy = new RegistryError(RegistryErrorCode.unavailable, 'busy', { retryAfterMs: 60_000 });
const denied = new RegistryError(RegistryErrorCode.unauthorized, 'denied');
const page = new RegistryError(RegistryErrorCode.badResponse, 'a web page');
const restarted = new StoreError(PullerErrorCode.storeUnreachable, 'the runtime restarts', { transient: true });
const refused = new StoreError(PullerErrorCode.storeRefused, 'wrong offset', { transient: false });
const corrupt = new CorruptBlobError('wrong bytes', {});

interface Case {
  readonly name: string;
  readonly error: Error;
  readonly failures: number;
  readonly isCapped: boolean;
  readonly isShared?: boolean;
  readonly want: ReturnType<typeof nextWay>;
}

test.each<Case>([
  { name: 'a full disk ends everything', error: new NoSpaceError('full'), failures: 1, isCapped: false, want: 'stop' },
  { name: 'a cut link is tried again', error: cut, failures: 2, isCapped: false, want: 'again' },
  {
    name: 'a link that stays cut is left to the runtime, which may know other mirrors',
    error: cut,
    failures: 3,
    isCapped: false,
    want: 'runtime',
  },
  { name: 'under a cap it is waited for', error: cut, failures: 50, isCapped: true, want: 'again' },
  {
    name: 'while other nodes need it too, a cut link is waited for',
    error: cut,
    failures: 50,
    isCapped: false,
    isShared: true,
    want: 'again',
  },
  { name: 'and so is a runtime that restarts', error: restarted, failures: 50, isCapped: false, isShared: true, want: 'again' },
  {
    name: 'a blob that stays denied is left to the runtime all the same',
    error: denied,
    failures: 1,
    isCapped: false,
    isShared: true,
    want: 'runtime',
  },
  { name: 'a limit of the registry is tried again', error: limited, failures: 1, isCapped: false, want: 'again' },
  {
    name: 'a limit that stays is left to the runtime after the wait, since it asks the same registry',
    error: limited,
    failures: 2,
    isCapped: false,
    want: 'runtime after a wait',
  },
  { name: 'so is a registry that asks for a wait', error: busy, failures: 2, isCapped: false, want: 'runtime after a wait' },
  {
    name: 'so is a limit of one server, where another was not reached',
    error: new RegistryError(RegistryErrorCode.unreachable, 'no route', { earlier: [limited] }),
    failures: 2,
    isCapped: false,
    want: 'runtime after a wait',
  },
  { name: 'under a cap a limit is waited for', error: limited, failures: 50, isCapped: true, want: 'again' },
  { name: 'a denied blob is left to the runtime at once', error: denied, failures: 1, isCapped: false, want: 'runtime' },
  { name: 'a denied blob is left to the runtime under a cap too', error: denied, failures: 1, isCapped: true, want: 'runtime' },
  { name: 'a log-in page is asked again: the runtime would take it for bytes', error: page, failures: 2, isCapped: false, want: 'again' },
  { name: 'a log-in page that stays is left to the runtime', error: page, failures: 3, isCapped: true, want: 'runtime' },
  { name: 'a runtime that restarts is asked again', error: restarted, failures: 1, isCapped: false, want: 'again' },
  { name: 'a store that does not come back is left', error: restarted, failures: 3, isCapped: true, want: 'runtime' },
  { name: 'a store that refuses is left at once', error: refused, failures: 1, isCapped: false, want: 'runtime' },
  { name: 'wrong bytes are asked for once more', error: corrupt, failures: 1, isCapped: true, want: 'again' },
  { name: 'wrong bytes twice are left to the runtime', error: corrupt, failures: 2, isCapped: true, want: 'runtime' },
  { name: 'an unknown failure is left to the runtime', error: new TypeError('odd'), failures: 1, isCapped: false, want: 'runtime' },
])('$name', ({ error, failures, isCapped, isShared = false, want }) => {
  expect(nextWay(error, { failures, isCapped, isShared })).toBe(want);
});

test.each([
  { name: 'a cut link', error: cut, want: true },
  { name: 'a runtime that restarts', error: restarted, want: true },
  {
    name: 'a refusal of one server, where another was not reached',
    error: new RegistryError(RegistryErrorCode.notFound, 'gone', { earlier: [neverReached] }),
    want: false,
  },
  { name: 'a denied blob', error: denied, want: false },
  { name: 'a full disk', error: new NoSpaceError('full'), want: false },
  { name: 'wrong bytes', error: corrupt, want: false },
])('$name passes: $want', ({ error, want }) => {
  expect(isPassing(error)).toBe(want);
});
