import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { z } from 'zod';

/** One answered request. */
export interface ServedRequest {
  readonly method: string;
  /** Path and query. */
  readonly uri: string;
  readonly status: number;
  /** Bytes of the body that were written; also of a transfer that was broken off. */
  readonly bytes: number;
  /** Address of the client, without its port. */
  readonly to: string;
}

/** Requests that a registry has answered, and the bytes it has sent. */
export interface Served {
  readonly requests: readonly ServedRequest[];
  /** Bytes of all answers to GET. */
  readonly bytes: number;
  /** Bytes of blobs and manifests, by the digest in the request. */
  readonly byDigest: ReadonlyMap<string, number>;
}

const Line = z.object({
  msg: z.literal('response completed'),
  'http.request.method': z.string(),
  'http.request.uri': z.string(),
  'http.response.status': z.number().default(0),
  'http.response.written': z.number().default(0),
  'http.request.remoteaddr': z.string().default(''),
});

/** Reads the registry's JSON log; lines that are no finished requests are left out. */
export async function readAccessLog(file: string): Promise<ServedRequest[]> {
  const requests: ServedRequest[] = [];
  for await (const text of createInterface({ input: createReadStream(file, 'utf8'), crlfDelay: Number.POSITIVE_INFINITY })) {
    const line = Line.safeParse(parseJson(text));
    if (!line.success) continue;
    const { data } = line;
    requests.push({
      method: data['http.request.method'],
      uri: data['http.request.uri'],
      status: data['http.response.status'],
      bytes: data['http.response.written'],
      to: data['http.request.remoteaddr'].replace(/:\d+$/, ''),
    });
  }
  return requests;
}

/** Adds up what was sent in answer to GET requests. */
export function countServed(requests: readonly ServedRequest[]): Served {
  const byDigest = new Map<string, number>();
  let bytes = 0;
  for (const request of requests) {
    if (request.method !== 'GET') continue;
    bytes += request.bytes;
    const digest = /sha256:[0-9a-f]{64}/.exec(request.uri)?.[0];
    if (digest) byDigest.set(digest, (byDigest.get(digest) ?? 0) + request.bytes);
  }
  return { requests, bytes, byDigest };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
