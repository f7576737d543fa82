import { errorMessage } from '@flotilla/api';
import { status } from '@grpc/grpc-js';
import { expect, test } from 'vitest';
import { NoSpaceError, StoreError } from '../errors.ts';
import { isRefusal, toStoreError } from './connection.ts';

const pulling = 'failed to pull and unpack image "h/a:1": ';

test.each<[string, number, string, boolean]>([
  ['a manifest that is not there', status.NOT_FOUND, `${pulling}failed to resolve reference: h/a:1: not found`, false],
  ['a refused token', status.UNKNOWN, `${pulling}failed to authorize: unexpected status: 401 Unauthorized`, false],
  ['a forbidden repository', status.UNKNOWN, `${pulling}unexpected status from HEAD request: 403 Forbidden`, false],
  ['a bad name', status.INVALID_ARGUMENT, 'failed to parse reference', false],
  ['a broken connection', status.UNKNOWN, `${pulling}failed to copy: read tcp: connection reset by peer`, true],
  ['a registry in trouble', status.UNKNOWN, `${pulling}unexpected status code 503 Service Unavailable`, true],
  ['a limit', status.UNKNOWN, `${pulling}429 Too Many Requests`, true],
  ['an unknown host', status.UNKNOWN, `${pulling}dial tcp: lookup h: no such host`, true],
  ['a pull that takes too long', status.DEADLINE_EXCEEDED, 'Deadline exceeded', true],
  ['a runtime that is gone', status.UNAVAILABLE, 'No connection established. ENOENT', true],
])('%s', (_, code, details, transient) => {
  const error = toStoreError({ code, details }, '/run/x.sock');
  expect(error).toBeInstanceOf(StoreError);
  expect(error).toMatchObject({ transient });
});

test.each([
  { code: status.UNKNOWN, details: `${pulling}no such\n host`, says: `UNKNOWN: ${pulling}no such host` },
  { code: status.UNAVAILABLE, details: 'ENOENT', says: 'the runtime at /s does not answer: ENOENT' },
  { code: status.RESOURCE_EXHAUSTED, details: 'no space left on device', says: "the node's image store is full: no space left on device" },
])('what the runtime says is said once: $says', ({ code, details, says }) => {
  const refused = Object.assign(new Error(`${code} ${status[code]}: ${details}`), { code, details });
  const failure = toStoreError(refused, '/s');
  expect(errorMessage(failure)).toBe(says);
  if (failure instanceof StoreError) expect(isRefusal(failure, status[code] as keyof typeof status)).toBe(true);
});

test('a full disk is no space, whatever the code', () => {
  expect(toStoreError({ code: status.UNKNOWN, details: `${pulling}write /var/lib: no space left on device` }, '/s')).toBeInstanceOf(
    NoSpaceError,
  );
});
