import { type Condition, type KubeObject, type Resource, untyped } from '@flotilla/api';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { ApiError, RuntimeErrorCode } from './errors.ts';
import { RefusedValues } from './refused-values.ts';
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

  /** Takes no crew of more than three. */
  const small = (): KubeObject => {
    const { status } = body(sent.at(-1));
    if (status?.crew === undefined || status.crew <= 3) return boat(status);
    const causes = [{ field: 'status.crew', reason: 'FieldValueInvalid', message: 'should be less than or equal to 3' }];
    throw new ApiError(RuntimeErrorCode.invalid, 'PATCH', { status: 422, reason: 'Invalid', serverMessage: '', causes });
  };
  const Sent = z.object({ body: z.object({ status: z.object({ crew: z.number().optional() }).loose().optional() }) });
  const body = (call: unknown) => Sent.parse(call).body;
  let sent: unknown[];

  test('a value that the server refuses costs that value, and is not sent again', async () => {
    const scripted = server(small);
    sent = scripted.sent;
    const options = { refused: new RefusedValues() };
    const stored = await patchStatus(scripted.client, Boat, boat(), { crew: 5, knots: 6 }, options);
    expect(stored).toMatchObject({ status: { knots: 6 } });
    await patchStatus(scripted.client, Boat, boat({ knots: 6 }), { crew: 5, knots: 7 }, options);
    expect(await patchStatus(scripted.client, Boat, boat({ knots: 7 }), { crew: 5, knots: 7 }, options)).toBeUndefined();
    expect(sent.map((call) => body(call).status)).toEqual([{ crew: 5, knots: 6 }, { knots: 6 }, { knots: 7 }]);
  });

  test('a status that cannot be mended is refused once, with the server words', async () => {
    const causes = [{ field: '<nil>', reason: 'FieldValueInvalid', message: 'a rule' }];
    const never = (): never => {
      throw new ApiError(RuntimeErrorCode.invalid, 'PATCH', { status: 422, reason: 'Invalid', serverMessage: 'a rule', causes });
    };
    const scripted = server(never);
    await expect(patchStatus(scripted.client, Boat, boat(), { a: 1 }, { refused: new RefusedValues() })).rejects.toThrow('a rule');
    expect(scripted.sent).toHaveLength(1);
  });
});
