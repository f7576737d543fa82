import { RegistryError, RegistryErrorCode } from '@flotilla/registry';
import { expect, test } from 'vitest';
import { CorruptBlobError, NoSpaceError, PullerErrorCode, StoreError } from '../errors.ts';
import { nextWay } from './next-way.ts';

const cut = new RegistryError(RegistryErrorCode.unreachable, 'the link is cut');
const denied = new RegistryError(RegistryErrorCode.unauthorized, 'denied');
const page = new RegistryError(RegistryErrorCode.badResponse, 'a web page');
const restarted = new StoreError(PullerErrorCode.storeUnreachable, 'the runtime restarts', { transient: true });
const refused = new StoreError(PullerErrorCode.storeRefused, 'wrong offset', { transient: false });
const corrupt = new CorruptBlobError('wrong bytes', {});

test.each([
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
])('$name', ({ error, failures, isCapped, want }) => {
  expect(nextWay(error, { failures, isCapped })).toBe(want);
});
