import { expect, test } from 'vitest';
import { asksToWait, isDenied, isTransient, RegistryError, RegistryErrorCode, withSkipped } from './errors.ts';

const failed = (code: RegistryErrorCode, cause?: string) =>
  new RegistryError(code, 'x', { cause: cause === undefined ? undefined : Object.assign(new Error(cause), { code: cause }) });
const last = ({ code, cause }: RegistryError, ...earlier: RegistryError[]) => new RegistryError(code, 'x', { cause, earlier });

const absent = failed(RegistryErrorCode.notFound);
const forbidden = failed(RegistryErrorCode.unauthorized);
const gateway = failed(RegistryErrorCode.unavailable);
const limited = failed(RegistryErrorCode.rateLimited);
const cut = failed(RegistryErrorCode.unreachable, 'ECONNRESET');
const away = failed(RegistryErrorCode.unreachable, 'ECONNREFUSED');
const untrusted = failed(RegistryErrorCode.untrusted);

test.each<[string, RegistryError, { passes: boolean; denied: boolean }]>([
  ['absent everywhere', last(absent, absent), { passes: false, denied: true }],
  ['absent on the mirror, source never reached', last(away, absent), { passes: true, denied: true }],
  ['forbidden on the mirror, source never reached', last(away, forbidden), { passes: true, denied: true }],
  ['source never reached and asked first, absent on the mirror', last(absent, away), { passes: true, denied: true }],
  ['mirror in trouble, source never reached', last(away, gateway), { passes: true, denied: false }],
  ['mirror in trouble, absent at the source', last(absent, gateway), { passes: true, denied: false }],
  ['absent on the mirror, source in trouble', last(gateway, absent), { passes: true, denied: false }],
  ['absent on the mirror, source limits', last(limited, absent), { passes: true, denied: false }],
  ['absent on the mirror, source cut', last(cut, absent), { passes: true, denied: false }],
  ['nobody reached', last(away, away), { passes: true, denied: false }],
  ['a mirror that nobody trusts', last(absent, untrusted), { passes: false, denied: true }],
])('%s', (_, error, { passes, denied }) => {
  expect([isTransient(error), isDenied(error)]).toEqual([passes, denied]);
});

test('a mirror is asked again when the wait is over that it asked for, where the source is not reached', () => {
  const busy = new RegistryError(RegistryErrorCode.rateLimited, 'asks to wait 60 s', { retryAfterMs: 60_000 });
  expect(withSkipped(away, [busy]).retryAfterMs).toBe(60_000);
  expect(withSkipped(cut, [busy]).retryAfterMs).toBeUndefined();
  expect([withSkipped(away, [busy]), withSkipped(cut, [busy]), withSkipped(away, [absent])].map(asksToWait)).toEqual([true, true, false]);
});

test('a further failure leaves out the image where its sentence begins with it, and nowhere else', () => {
  const first = new RegistryError(RegistryErrorCode.notFound, 'h.test/a:1: mirror.test answered 404', { image: 'h.test/a:1' });
  const message = 'manifest of h.test/a:1: no JSON';
  const { message: both } = withSkipped(new RegistryError(RegistryErrorCode.badManifest, message, { image: 'h.test/a:1' }), [first]);
  expect(both).toBe(`${first.message}; ${message}`);
});

test('an answer is told before servers that were not reached, wherever it came from', () => {
  const at = (host: string, code: RegistryErrorCode, cause?: string) =>
    new RegistryError(code, `h.test/a:1: ${host} says no`, {
      image: 'h.test/a:1',
      host,
      cause: cause === undefined ? undefined : Object.assign(new Error(cause), { code: cause }),
    });
  const mirror = at('mirror.test', RegistryErrorCode.unauthorized);
  const source = at('h.test', RegistryErrorCode.unreachable, 'ENOTFOUND');
  const error = withSkipped(source, [at('dead.test', RegistryErrorCode.unreachable, 'ECONNREFUSED'), mirror]);
  expect(error.message).toBe('h.test/a:1: mirror.test says no; dead.test says no; h.test says no');
  expect([error.code, error.host, isDenied(error)]).toEqual([source.code, 'h.test', true]);
});
