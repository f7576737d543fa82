import type { WantedRelease } from '@flotilla/release';
import { describe, expect, test } from 'vitest';
import { type ReleaseAccess, retrieveRelease } from './retrieve-release.ts';

const image = `registry.example/release@sha256:${'a'.repeat(64)}`;
const files = [{ path: 'manifests/a.yaml', content: new Uint8Array() }];
const request = (parts: Partial<WantedRelease> = {}): WantedRelease => ({ image, version: '4.20.2', force: false, ...parts });

/** Access that remembers what was done with it. */
function access(parts: Partial<ReleaseAccess> = {}): ReleaseAccess & { readonly done: string[]; fire(): void } {
  const done: string[] = [];
  const timers: (() => void)[] = [];
  return {
    done,
    fire: () => timers.at(-1)?.(),
    verify: async (digest) => {
      done.push(`verify ${digest}`);
      return [new Uint8Array([1])];
    },
    fetch: async (pullSpec) => {
      done.push(`fetch ${pullSpec}`);
      return files;
    },
    clock: {
      now: () => 0,
      setTimer: (_, fn) => {
        timers.push(fn);
        return { [Symbol.dispose]: () => void timers.splice(timers.indexOf(fn), 1) };
      },
    },
    signal: new AbortController().signal,
    ...parts,
  };
}
const fails = (message: string) => () => Promise.reject(new Error(message));

test('a release is verified, then fetched', async () => {
  const given = access();
  expect(await retrieveRelease(request(), given)).toEqual({ files, verified: true, acceptedRisks: '', signatures: [new Uint8Array([1])] });
  expect(given.done).toEqual([`verify sha256:${'a'.repeat(64)}`, `fetch ${image}`]);
});

test('a tag has no digest to verify', async () => {
  const given = access();
  await retrieveRelease(request({ image: 'registry.example/release:4.20.2' }), given);
  expect(given.done[0]).toBe('verify ');
});

test('a forced release goes on without a signature, and says what was risked', async () => {
  const given = access({ verify: fails('nobody signed it') });
  expect(await retrieveRelease(request({ force: true }), given)).toMatchObject({
    verified: false,
    acceptedRisks: `Target release version="4.20.2" image="${image}" cannot be verified, but continuing anyway because the update was forced: nobody signed it`,
  });
});

describe('is refused', () => {
  test.each<{ name: string; given: Partial<WantedRelease>; parts: Partial<ReleaseAccess>; reason: string; message: string }>([
    {
      name: 'without a valid signature',
      given: {},
      parts: { verify: fails('nobody signed it') },
      reason: 'ImageVerificationFailed',
      message: 'The update cannot be verified: nobody signed it',
    },
    {
      name: 'when it cannot be fetched, forced or not',
      given: { force: true },
      parts: { fetch: fails('HTTP 404') },
      reason: 'UpdatePayloadRetrievalFailed',
      message: 'Unable to download and prepare the update: HTTP 404',
    },
    {
      name: 'without an image',
      given: { image: '' },
      parts: {},
      reason: 'UpdatePayloadRetrievalFailed',
      message:
        'Unable to download and prepare the update: no payload image has been specified and the contents of the payload cannot be retrieved',
    },
  ])('$name', async ({ given, parts, reason, message }) => {
    await expect(retrieveRelease(request(given), access(parts))).rejects.toMatchObject({ reason, message });
  });

  const hang = (_: string, signal: AbortSignal) =>
    new Promise<never>((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)));

  test('when verification takes half of the time', async () => {
    const given = access({ verify: hang });
    const retrieval = retrieveRelease(request(), given);
    given.fire();
    await expect(retrieval).rejects.toThrow('The update cannot be verified: verification took longer than 2 minutes');
  });

  test('when the download takes the rest', async () => {
    const begun = Promise.withResolvers<void>();
    const given = access({
      fetch: (pullSpec, signal) => {
        begun.resolve();
        return hang(pullSpec, signal);
      },
    });
    const retrieval = retrieveRelease(request(), given);
    await begun.promise;
    given.fire();
    await expect(retrieval).rejects.toThrow('Unable to download and prepare the update: it took longer than 4 minutes');
  });
});
