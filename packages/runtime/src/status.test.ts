import { type Condition, type KubeObject, type Resource, untyped } from '@flotilla/api';
import { describe, expect, test } from 'vitest';
import { ApiError, RuntimeErrorCode } from './errors.ts';
import { patchStatus } from './status.ts';

const boat = (status?: { conditions?: Condition[]; [field: string]: unknown }) => ({
  metadata: { namespace: 'sea', name: 'boat', uid: 'u', resourceVersion: '7', generation: 3 },
  ...(status && { status }),
});

describe('patchStatus', () => {
  const Boat = untyped('sea.example/v1', 'Boat', 'boats');

  /** Everything that was sent, and an answer. */
  function server(answer: () => KubeObject) {
    const sent: unknown[] = [];
    const patch = async <T extends KubeObject>(kind: Resource<T>, ref: unknown, body: unknown, options: unknown): Promise<T> => {
      sent.push({ ref, body, options });
      return kind.schema.parse(answer());
    };
    return { sent, client: { patch } };
  }

  test('sends what changed, under the version it was judged by', async () => {
    const { client, sent } = server(() => boat({ knots: 6 }));
    const stored = await patchStatus(client, Boat, boat({ crew: 2, knots: 5, old: true }), { crew: 2, knots: 6 });
    expect(stored).toMatchObject({ status: { knots: 6 } });
    expect(sent).toEqual([
      {
        ref: { namespace: 'sea', name: 'boat' },
        body: { metadata: { uid: 'u', resourceVersion: '7' }, status: { knots: 6, old: null } },
        options: { type: 'merge', subresource: 'status' },
      },
    ]);
  });

  test('sends nothing when nothing changed, whatever the order of the keys', async () => {
    const { client, sent } = server(() => boat());
    expect(await patchStatus(client, Boat, boat({ a: 1, b: { c: [1], d: 2 } }), { b: { d: 2, c: [1] }, a: 1 })).toBeUndefined();
    expect(await patchStatus(client, Boat, boat(), {})).toBeUndefined();
    expect(sent).toEqual([]);
  });

  const refusal = (code: string, status: number) => (): never => {
    throw new ApiError(code, 'PATCH', { status, reason: '', serverMessage: '' });
  };

  test('an object that is gone needs no status; a conflict is told', async () => {
    expect(await patchStatus(server(refusal(RuntimeErrorCode.notFound, 404)).client, Boat, boat(), { a: 1 })).toBeUndefined();
    const { client } = server(refusal(RuntimeErrorCode.conflict, 409));
    await expect(patchStatus(client, Boat, boat(), { a: 1 })).rejects.toMatchObject({ status: 409 });
  });
});
