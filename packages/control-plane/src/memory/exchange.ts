import { isJsonObject, mergePatched, parseJson } from '@flotilla/api';
import { type AnswerStream, type Call, type Exchange, refusedAnswer } from '@flotilla/runtime';
import { apiVersionOf, type ServedKind } from './built-in-kinds.ts';
import type { Deletion } from './deletions.ts';
import { groupAnswer, groupsAnswer } from './discovery.ts';
import { jsonPatched } from './json-patch.ts';
import { listAnswer } from './lists.ts';
import { metadataOf } from './metadata.ts';
import type { Objects, Target } from './objects.ts';
import { badRequest, groupResource, noSuchPath, noSuchResource, notFound, Refusal, UnsupportedError } from './refusals/refusal.ts';
import { DeleteBody, isSet, partsOf, Query, type ResourceCall, resourceCall } from './request.ts';
import type { Json } from './schema/schema.ts';
import { labelSelector } from './selectors.ts';

interface ExchangeOptions {
  readonly objects: Objects;
  /** Field manager of writes that name none. */
  readonly manager: string;
  /** Base URL, for messages. */
  readonly server: string;
  readonly openWatch: (kind: ServedKind, namespace: string | undefined, query: Query) => AnswerStream;
}

const NO_QUERY = Query.safeParse({});
const WRITES: ReadonlySet<string> = new Set(['POST', 'PUT', 'PATCH', 'DELETE']);

/** Answers calls out of memory, in the words of an API server. */
export class MemoryExchange implements Exchange {
  readonly #options: ExchangeOptions;
  readonly #open = new Set<AnswerStream>();

  constructor(options: ExchangeOptions) {
    this.#options = options;
  }

  async send(call: Call): Promise<string> {
    call.signal?.throwIfAborted();
    const answer = this.#answered(call, () => this.#route(call));
    if (typeof answer === 'string') return answer;
    return this.#options.objects.log.textOf(answer) ?? JSON.stringify(answer);
  }

  async open(call: Call): Promise<AnswerStream> {
    call.signal?.throwIfAborted();
    const stream = this.#answered(call, () => {
      const { kind, at, query } = this.#resource(call);
      if (!isSet(query.watch)) throw new UnsupportedError(`stream ${call.path}`);
      return this.#options.openWatch(kind, at.namespace, query);
    });
    this.#open.add(stream);
    return stream;
  }

  async close(): Promise<void> {
    for (const stream of this.#open) stream.destroy();
    this.#open.clear();
  }

  #answered<T>(call: Call, answer: () => T): T {
    try {
      return answer();
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      const text = typeof error.body === 'string' ? error.body : JSON.stringify(error.body);
      throw refusedAnswer(call, this.#options.server, { status: error.status, text });
    }
  }

  #route(call: Call): unknown {
    const parts = partsOf(call);
    const { segments } = parts;
    const { objects } = this.#options;
    if (call.method === 'GET') {
      const [root, ...rest] = segments;
      if (['readyz', 'livez', 'healthz'].includes(root ?? '') && rest.length === 0) return 'ok';
      if (root === 'version' && rest.length === 0) return { major: '1', minor: '36', gitVersion: 'v1.36.0-memory' };
      if (root === 'apis' && rest.length === 0) return groupsAnswer(objects.kinds);
      if (root === 'api' && rest.length === 1) return groupAnswer(objects.kinds, '', rest[0] ?? '');
      if (root === 'apis' && rest.length === 2) return groupAnswer(objects.kinds, rest[0] ?? '', rest[1] ?? '');
    }
    if (!resourceCall(segments)) throw new UnsupportedError(`answer ${call.method} ${call.path}`);
    const { kind, at, query } = this.#resource(call, parts);
    return WRITES.has(call.method) ? this.#write(call, kind, at, query) : this.#read(kind, at, query);
  }

  #resource(call: Call, { segments, query } = partsOf(call)): { kind: ServedKind; at: ResourceCall; query: Query } {
    const at = resourceCall(segments);
    if (!at) throw noSuchPath();
    const { objects } = this.#options;
    const kind = objects.kind(at.group, at.version, at.plural);
    if (!kind) {
      const isKnown = objects.kinds.some(({ group, version, isCustom }) => group === at.group && version === at.version && !isCustom);
      throw isKnown ? noSuchResource() : noSuchPath();
    }
    if (kind.namespaced === (at.namespace === undefined) && (at.name !== undefined || !kind.namespaced)) throw noSuchResource();
    const parsed = Object.keys(query).length === 0 ? NO_QUERY : Query.safeParse(query);
    if (!parsed.success) throw new UnsupportedError(`read the query of ${call.path}: ${parsed.error.message}`);
    if (at.subresource === 'status' && !kind.hasStatus) throw kind.isCustom ? notFound(kind, at.name ?? '') : noSuchResource();
    if (at.subresource !== undefined && at.subresource !== 'status')
      throw new UnsupportedError(`serve subresource ${at.subresource} of ${groupResource(kind)}`);
    return { kind, at, query: parsed.data };
  }

  #read(kind: ServedKind, at: ResourceCall, query: Query): string {
    const { objects } = this.#options;
    if (at.name !== undefined) return objects.get({ kind, namespace: at.namespace ?? '', name: at.name }).text;
    return listAnswer(objects, kind, at.namespace, query);
  }

  #write(call: Call, kind: ServedKind, at: ResourceCall, query: Query): unknown {
    const { objects, manager } = this.#options;
    const body: unknown = call.body === undefined ? undefined : parseJson(JSON.stringify(call.body));
    const strict = query.fieldValidation === 'Strict';
    const common = {
      kind,
      namespace: at.namespace ?? '',
      subresource: at.subresource,
      dryRun: query.dryRun === 'All',
      manager: query.fieldManager ?? manager,
      strict,
    };
    if (call.method === 'POST') {
      if (at.name !== undefined || (kind.namespaced && at.namespace === undefined)) throw new UnsupportedError(`answer POST ${call.path}`);
      return objects.create(common, body);
    }
    if (at.name === undefined) {
      if (call.method !== 'DELETE') throw new UnsupportedError(`answer ${call.method} ${call.path}`);
      return this.#deleteCollection(common, query, body);
    }
    const target = { ...common, name: at.name };
    if (call.method === 'DELETE') return this.#delete(target, query, body);
    if (call.method === 'PUT') return this.#put(target, body);
    return this.#patch(target, call.contentType, body, query);
  }

  #put(target: Target, body: unknown): Json {
    const { objects } = this.#options;
    const { kind, namespace, name } = target;
    if (kind.strategy.createsOnUpdate && !target.subresource && !objects.find(kind, namespace, name) && isJsonObject(body)) {
      if (metadataOf(body).resourceVersion) throw new UnsupportedError(`create ${kind.plural} of a version by PUT`);
      return objects.create(target, body);
    }
    return objects.update(target, () => body, 'put');
  }

  #patch(target: Target, contentType: string | undefined, body: unknown, { force }: Query): Json {
    const { objects } = this.#options;
    switch (contentType ?? '') {
      case 'application/apply-patch+yaml':
        return objects.apply(target, body, isSet(force));
      case 'application/merge-patch+json':
        return objects.update(target, (live) => mergePatched(live, body), 'patch');
      case 'application/json-patch+json':
        return objects.update(target, (live) => jsonPatched(live, body), 'patch');
      default:
        throw new UnsupportedError(`apply a patch of type ${contentType}`);
    }
  }

  #delete(target: Target, query: Query, body: unknown): Json {
    const { kind, name } = target;
    const { uid } = metadataOf(this.#options.objects.get(target).object);
    const left = this.#options.objects.remove(target, deletionOf(query, body));
    if (left) return left;
    const details = { name, ...(kind.group && { group: kind.group }), kind: kind.plural, uid };
    return { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', details };
  }

  #deleteCollection(target: Omit<Target, 'name'>, query: Query, body: unknown): Json {
    const { objects } = this.#options;
    const { kind, namespace } = target;
    if (query.fieldSelector) throw new UnsupportedError('delete by a field selector');
    const selects = labelSelector(query.labelSelector);
    const items = objects
      .list(kind)
      .filter((stored) => (!kind.namespaced || stored.namespace === namespace) && selects(stored.object))
      .map(({ name, object }) => objects.remove({ ...target, name }, deletionOf(query, body)) ?? object);
    const metadata = { resourceVersion: String(objects.log.version) };
    return { kind: `${kind.kind}List`, apiVersion: apiVersionOf(kind), metadata, items };
  }
}

function deletionOf(query: Query, body: unknown): Deletion {
  const { data, error } = DeleteBody.safeParse(body ?? {});
  if (!data) throw badRequest(`the deletion's options are none: ${error.message}`);
  if (data.dryRun) throw new UnsupportedError('delete by a dry run');
  return {
    uid: data.preconditions?.uid,
    resourceVersion: data.preconditions?.resourceVersion,
    propagation: data.propagationPolicy ?? query.propagationPolicy,
    gracePeriodSeconds: data.gracePeriodSeconds ?? query.gracePeriodSeconds,
  };
}
