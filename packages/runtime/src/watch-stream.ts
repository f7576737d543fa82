import { errorMessage, foreign, type KubeObject, type Resource } from '@flotilla/api';
import { z } from 'zod';
import type { InvalidObject, Reading, WatchEvent } from './client.ts';
import { ApiError, codeOf, RuntimeErrorCode, transportError } from './errors.ts';

/** One event is at most this long; the API server itself stores no object above about 3 MiB. */
const LINE_BYTES = 16 * 1024 * 1024;

const Event = foreign(z.object({ type: z.string(), object: z.unknown() }));
const StatusObject = foreign(z.looseObject({ code: z.number().catch(500), reason: z.string().catch(''), message: z.string().catch('') }));
const Bookmark = foreign(z.object({ metadata: z.object({ resourceVersion: z.string() }) }));
/** As much of any object as is needed to name it. */
const Named = foreign(
  z.looseObject({
    metadata: z.looseObject({
      name: z.string().catch(''),
      namespace: z.string().optional().catch(undefined),
      resourceVersion: z.string().catch(''),
    }),
  }),
);

/** Whole lines of a byte stream. What follows the last newline is dropped: the stream ended inside an event. */
export async function* lines(chunks: AsyncIterable<Uint8Array>, maxBytes = LINE_BYTES): AsyncGenerator<string, void, undefined> {
  const decoder = new TextDecoder();
  let parts: string[] = [];
  let size = 0;
  for await (const chunk of chunks) {
    const text = decoder.decode(chunk, { stream: true });
    let start = 0;
    for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n', start)) {
      const line = parts.length === 0 ? text.slice(start, end) : parts.join('') + text.slice(start, end);
      parts = [];
      size = 0;
      start = end + 1;
      if (line.trim() !== '') yield line;
    }
    if (start < text.length) parts.push(text.slice(start));
    size += text.length - start;
    if (size > maxBytes) throw transportError(RuntimeErrorCode.tooLarge, 'watch', `an event is longer than ${maxBytes} bytes`);
  }
}

/** Name, namespace and version of an object that its schema refused; undefined when it is no object at all. */
export function nameOf(object: unknown): Pick<InvalidObject, 'ref' | 'resourceVersion'> | undefined {
  const named = Named.safeParse(object);
  if (!named.success) return undefined;
  const { name, namespace, resourceVersion } = named.data.metadata;
  return { ref: namespace ? { namespace, name } : { name }, resourceVersion };
}

/**
 * One line as an event. Throws `ApiError` for an in-band error and for a line that is no event (the stream cannot be trusted any
 * more); an object that its schema refuses goes to `onInvalid` and gives undefined.
 */
export function parseEvent<T extends KubeObject>(
  kind: Resource<T>,
  line: string,
  onInvalid: (invalid: InvalidObject) => void,
  reading: Reading,
): WatchEvent<T> | undefined {
  const { type, object } = parseLine(kind, line, reading);
  switch (type) {
    case 'BOOKMARK': {
      const bookmark = Bookmark.safeParse(object);
      return bookmark.success ? { type, resourceVersion: bookmark.data.metadata.resourceVersion } : undefined;
    }
    case 'ERROR': {
      const { code, reason, message } = StatusObject.parse(object ?? {});
      throw new ApiError(codeOf(code, reason), `watch of ${kind.plural}`, { status: code, reason, serverMessage: message });
    }
    case 'ADDED':
    case 'MODIFIED':
    case 'DELETED': {
      const parsed = reading.object(kind, object);
      if (parsed.success) return { type, object: parsed.data };
      const named = nameOf(object);
      if (!named) throw notAnEvent(kind, line);
      onInvalid({ kind: kind.kind, ...named, deleted: type === 'DELETED', error: parsed.error });
      return undefined;
    }
    default:
      return undefined;
  }
}

function parseLine(kind: Resource, line: string, { json }: Reading): z.output<typeof Event> {
  try {
    return Event.parse(json(line));
  } catch (error) {
    throw notAnEvent(kind, line, error);
  }
}

const notAnEvent = (kind: Resource, line: string, cause?: unknown): ApiError =>
  transportError(
    RuntimeErrorCode.badAnswer,
    `watch of ${kind.plural}`,
    `a line of ${line.length} characters is no event${cause ? ` (${errorMessage(cause).slice(0, 200)})` : ''}`,
    cause,
  );
