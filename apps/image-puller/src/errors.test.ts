import { TerminalError } from '@flotilla/api';
import { PullerExit } from '@flotilla/api/ran';
import { RegistryError, RegistryErrorCode } from '@flotilla/registry';
import { ReleaseError, ReleaseErrorCode } from '@flotilla/release';
import { SoftwareErrorCode, SpecError } from '@flotilla/software';
import { expect, test } from 'vitest';
import { exitCodeOf, exitCodeOfPull, NoSpaceError, PullerErrorCode, StoreError } from './errors.ts';

test.each<[string, unknown, number]>([
  ['a bad key', new SpecError(SoftwareErrorCode.specInvalid, 'x'), PullerExit.badSpec],
  ['a bad catalogue', new ReleaseError(ReleaseErrorCode.catalogueInvalid, 'x'), PullerExit.badSpec],
  ['a bad variable', new TerminalError(PullerErrorCode.configInvalid, 'x'), PullerExit.badSpec],
  ['a bad reference', new RegistryError(RegistryErrorCode.badReference, 'x'), PullerExit.badSpec],
  ['an image for another processor', new RegistryError(RegistryErrorCode.noPlatform, 'x'), PullerExit.badSpec],
  ['a refused credential', new RegistryError(RegistryErrorCode.unauthorized, 'x'), PullerExit.registryRefused],
  ['a missing image', new RegistryError(RegistryErrorCode.notFound, 'x'), PullerExit.registryRefused],
  ['a registry that does not answer', new RegistryError(RegistryErrorCode.unreachable, 'x'), PullerExit.registryRefused],
  ['no room', new NoSpaceError('x'), PullerExit.noSpace],
  ['no runtime', new StoreError(PullerErrorCode.storeUnreachable, 'x', { transient: false }), PullerExit.internal],
  ['a disk that fails', new RegistryError(RegistryErrorCode.storeFailed, 'x'), PullerExit.internal],
  ['a bug', new TypeError('x'), PullerExit.internal],
  ['anything', undefined, PullerExit.internal],
])('%s', (_, error, code) => {
  expect(exitCodeOf(error)).toBe(code);
});

test.each([
  [{ done: 3, failed: 0 }, PullerExit.done],
  [{ done: 3, failed: 1 }, PullerExit.partlyDone],
  [{ done: 0, failed: 4 }, PullerExit.registryRefused],
])('%j', (counts, code) => {
  expect(exitCodeOfPull(counts)).toBe(code);
});
