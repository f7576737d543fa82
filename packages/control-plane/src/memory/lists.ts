import { apiVersionOf, type ServedKind } from './built-in-kinds.ts';
import type { Stored } from './object-log.ts';
import type { Objects } from './objects.ts';
import { badRequest, expired } from './refusals/refusal.ts';
import type { Query } from './request.ts';
import type { Json } from './schema/schema.ts';
import { fieldSelector, labelSelector } from './selectors.ts';

/** The list goes on after a key, as of a version. */
interface Token {
  readonly version: number;
  readonly after: string;
}

const TOO_OLD =
  'The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list.';

const write = ({ version, after }: Token): string => Buffer.from(JSON.stringify([version, after])).toString('base64url');

function readToken(text: string): Token {
  try {
    const [version, after] = JSON.parse(Buffer.from(text, 'base64url').toString('utf8')) as [unknown, unknown];
    if (typeof version === 'number' && typeof after === 'string') return { version, after };
  } catch {
    // Whatever it is, it is no token.
  }
  throw badRequest('invalid continue token: continue key is not valid: illegal base64 data at input byte 0');
}

/** Which objects a call selects. */
export function selection(
  kind: ServedKind,
  namespace: string | undefined,
  query: Query,
): (stored: Pick<Stored, 'namespace' | 'object'>) => boolean {
  const [byLabels, byFields] = [labelSelector(query.labelSelector), fieldSelector(kind, query.fieldSelector)];
  return (stored) => (namespace === undefined || stored.namespace === namespace) && byLabels(stored.object) && byFields(stored.object);
}

/** A page of a list as JSON. */
export function listAnswer(objects: Objects, kind: ServedKind, namespace: string | undefined, query: Query): string {
  const token = query.continue ? readToken(query.continue) : undefined;
  const version = token?.version ?? objects.log.version;
  if (version < objects.log.oldest) throw expired(TOO_OLD);
  const isSelected = selection(kind, namespace, query);
  const keyOf = ({ namespace: place, name }: Stored): string => `${place}/${name}`;
  const all = objects.list(kind, version).filter((stored) => isSelected(stored) && (token === undefined || keyOf(stored) > token.after));
  const page = query.limit ? all.slice(0, query.limit) : all;
  const last = page.at(-1);
  const isSelective = Boolean(query.labelSelector || query.fieldSelector);
  const metadata: Json = {
    resourceVersion: String(version),
    ...(last && page.length < all.length && { continue: write({ version, after: keyOf(last) }) }),
    ...(page.length < all.length && !isSelective && { remainingItemCount: all.length - page.length }),
  };
  const items = page.map((stored) => (kind.isCustom ? stored.text : withoutType(stored)));
  const head = JSON.stringify({ kind: `${kind.kind}List`, apiVersion: apiVersionOf(kind), metadata });
  return `${head.slice(0, -1)},"items":[${items.join(',')}]}`;
}

/** Items of built-in kinds come without. */
function withoutType({ object }: Stored): string {
  const { apiVersion: _, kind: __, ...rest } = object;
  return JSON.stringify(rest);
}
