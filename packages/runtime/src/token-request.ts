import type { Ref } from '@flotilla/api';
import { z } from 'zod';
import type { Client } from './client.ts';

const TokenRequest = z.object({ status: z.object({ token: z.string().min(1) }) });

/**
 * A token of a ServiceAccount, for so many seconds; the server may give it a shorter life. Throws an ApiError (not found: the account or
 * its namespace is not there), or a ZodError when the answer holds no token.
 */
export async function requestToken(client: Pick<Client, 'request'>, account: Required<Ref>, seconds: number): Promise<string> {
  const path = `/api/v1/namespaces/${account.namespace}/serviceaccounts/${account.name}/token`;
  const answer = await client.request('POST', path, { body: { spec: { expirationSeconds: Math.round(seconds) } } });
  return TokenRequest.parse(answer).status.token;
}
