import { status } from '@grpc/grpc-js';
import { expect, test } from 'vitest';
import { NoSpaceError, StoreError } from '../errors.ts';
import { toStoreError } from './connection.ts';

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

test('a full disk is no space, whatever the code', () => {
  expect(toStoreError({ code: status.UNKNOWN, details: `${pulling}write /var/lib: no space left on device` }, '/s')).toBeInstanceOf(
    NoSpaceError,
  );
});
