import type { KubeObject, Resource } from '@flotilla/api';
import { ManagedCluster } from '@flotilla/api/ocm';
import { ApiError, RuntimeErrorCode } from '@flotilla/runtime';
import { expect, test } from 'vitest';
import { follow } from './follow.ts';

const failed = (code: string, status: number) =>
  new ApiError(code, 'watch', { status, reason: '', serverMessage: 'the connection was lost' });
const lost = failed(RuntimeErrorCode.unreachable, 0);
const named = (name: string) => ({ metadata: { name } });

/** Fakes a server whose lists answer in turn, or fail, and whose watches end with an error. */
const serverThatSays = (...answers: readonly unknown[]) => serverWhoseWatches(lost, ...answers);
const serverWhoseWatches = (endWith: Error, ...answers: readonly unknown[]) => {
  const left = [...answers];
  return {
    list: async <T extends KubeObject>(kind: Resource<T>) => {
      const answer = left.shift();
      if (answer instanceof Error) throw answer;
      return { items: [kind.schema.parse(answer)], resourceVersion: '1' };
    },
    async *watch() {
      yield await Promise.reject<never>(endWith);
    },
  };
};

/** Names of the versions that are seen until there are so many, or the error that ends it. */
async function seen(server: ReturnType<typeof serverThatSays>, most: number, timeoutMs = 20_000): Promise<unknown> {
  const names: unknown[] = [];
  try {
    for await (const found of follow(server, ManagedCluster, { name: 'a' }, AbortSignal.timeout(timeoutMs))) {
      names.push(found?.metadata.name);
      if (names.length === most) return names;
    }
  } catch (error) {
    return error;
  }
  return names;
}

test('a connection that is lost, and a server that is away for a moment, are no end: the object is looked at again', async () => {
  const away = failed(RuntimeErrorCode.unavailable, 503);
  expect(await seen(serverThatSays(named('a'), lost, away, named('a')), 2)).toEqual(['a', 'a']);
});

test.each([
  { name: 'has forgotten the version', code: RuntimeErrorCode.expired, status: 410 },
  { name: 'asks for time', code: RuntimeErrorCode.throttled, status: 429 },
])('a server that $name is no end', async ({ code, status }) => {
  expect(await seen(serverWhoseWatches(failed(code, status), named('a'), named('a')), 2)).toEqual(['a', 'a']);
});

test('a server that was never there, and one that refuses, are told at once', async () => {
  const denied = failed(RuntimeErrorCode.forbidden, 403);
  expect(await seen(serverThatSays(lost), 1)).toBe(lost);
  expect(await seen(serverThatSays(named('a'), denied), 2)).toBe(denied);
});

test('the time is up while the server is away: its error is told, not that nothing was seen', async () => {
  expect(await seen(serverThatSays(named('a'), ...Array<Error>(20).fill(lost)), 2, 200)).toBe(lost);
});
