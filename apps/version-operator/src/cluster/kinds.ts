import { foreign, type Resource, resource } from '@flotilla/api';
import { type Client, type Clock, groupVersion, readServedResources } from '@flotilla/runtime';
import { z } from 'zod';
import { LiveObject } from './live-object.ts';
import type { Wakeups } from './wakeups.ts';

const Definition = foreign(
  z.looseObject({
    spec: z.looseObject({
      group: z.string(),
      scope: z.string(),
      names: z.looseObject({ kind: z.string(), plural: z.string() }),
      versions: z.array(z.looseObject({ name: z.string(), served: z.boolean() })),
    }),
    status: z
      .looseObject({ conditions: z.array(z.looseObject({ type: z.string(), status: z.string() })).nullish() })
      .nullish()
      .catch(undefined),
  }),
);

/** Kinds that a CustomResourceDefinition serves by now, by `group/version/Kind`. */
export function definedKinds(definition: unknown): ReadonlyMap<string, Resource<LiveObject>> {
  const parsed = Definition.safeParse(definition);
  if (!parsed.success) return new Map();
  const { spec, status } = parsed.data;
  if (!status?.conditions?.some(({ type, status: is }) => type === 'Established' && is === 'True')) return new Map();
  const { group, scope, names, versions } = spec;
  return new Map(
    versions
      .filter(({ served }) => served)
      .map(({ name: version }) => [
        `${group}/${version}/${names.kind}`,
        resource(groupVersion(group, version), names.kind, names.plural, scope === 'Namespaced', LiveObject),
      ]),
  );
}

/** Key that is woken when a kind comes to be served. */
export const kindServed = (kindKey: string): string => `kind ${kindKey}`;

const GroupList = foreign(
  z.looseObject({
    groups: z.array(z.looseObject({ name: z.string(), versions: z.array(z.looseObject({ version: z.string() })) })),
  }),
);

const ApiService = z.looseObject({
  spec: z.looseObject({ service: z.looseObject({ name: z.string() }).nullish() }),
  status: z
    .looseObject({
      conditions: z
        .array(z.looseObject({ type: z.string(), status: z.string(), reason: z.string().nullish(), message: z.string().nullish() }))
        .nullish(),
    })
    .nullish()
    .catch(undefined),
});

/** A server holds back what is created of a kind for two seconds after it began to serve it (apiextensions-apiserver, `justCreated`). */
const HELD_BACK_MS = 2_000;
/** A kind that no CustomResourceDefinition brings is looked for so often, milliseconds. */
const LOOK_AGAIN_MS = 5_000;

/** Kinds that the server serves: the built-in ones as it lists them, all others as their CustomResourceDefinitions come and go. */
export class Kinds {
  readonly #client: Client;
  readonly #wakeups: Wakeups;
  readonly #clock: Clock;
  readonly #builtIn = new Map<string, Resource<LiveObject>>();
  readonly #defined = new Map<string, ReadonlyMap<string, Resource<LiveObject>>>();
  /** All of those together. */
  readonly #served = new Map<string, Resource<LiveObject>>();
  readonly #servedMs = new Map<string, number>();
  #lookedAt = Number.NEGATIVE_INFINITY;
  /** Kinds that the last look did not find, each with the error of its group's server; undefined for one that is not served. */
  readonly #unfound = new Map<string, unknown>();

  constructor(client: Client, wakeups: Wakeups, clock: Clock) {
    this.#client = client;
    this.#wakeups = wakeups;
    this.#clock = clock;
  }

  /** A kind by `group/version/Kind`; undefined when it is not served. */
  find(kindKey: string): Resource<LiveObject> | undefined {
    return this.#served.get(kindKey) ?? this.#builtIn.get(kindKey);
  }

  /** Takes in the kinds of a CustomResourceDefinition. True when this version serves kinds that the one before did not. */
  define(name: string, kinds: ReadonlyMap<string, Resource<LiveObject>>): boolean {
    const before = this.#defined.get(name);
    const added = [...kinds.keys()].filter((key) => !before?.has(key));
    this.#defined.set(name, kinds);
    for (const key of before?.keys() ?? []) this.#served.delete(key);
    for (const [key, kind] of kinds) this.#served.set(key, kind);
    // a definition that was not known before may serve it for long
    if (before) for (const key of added) this.#servedMs.set(key, this.#clock.now());
    for (const key of added) this.#wakeups.wake(kindServed(key));
    return added.length > 0;
  }

  /** True for a kind that has come to be served so lately that the server holds back a POST of its objects. */
  isHeldBack(kindKey: string): boolean {
    return this.#isWithin(HELD_BACK_MS, this.#servedMs.get(kindKey) ?? Number.NEGATIVE_INFINITY);
  }

  /** Looks for kinds that nothing defines, at most every few seconds. True when one of them was found. */
  async look(kindKeys: readonly string[]): Promise<boolean> {
    const missing = kindKeys.filter((key) => this.find(key) === undefined);
    if (missing.length === 0 || this.#isWithin(LOOK_AGAIN_MS, this.#lookedAt)) return false;
    this.#lookedAt = this.#clock.now();
    const served = await this.#servedVersions();
    const wanted = new Set(missing.map(versionOf).filter((version) => served.has(version)));
    const failed = new Map<string, unknown>();
    // a group whose own server is away costs its kinds alone
    await Promise.all([...wanted].map((version) => this.#read(version).catch((error: unknown) => failed.set(version, error))));
    for (const key of missing) this.#unfound.set(key, failed.get(versionOf(key)));
    const found = missing.filter((key) => this.#builtIn.has(key));
    for (const key of found) this.#wakeups.wake(kindServed(key));
    return found.length > 0;
  }

  /** It is less than so long ago. A time to come predates a step back of the clock. */
  #isWithin(ms: number, sinceMs: number): boolean {
    const agoMs = this.#clock.now() - sinceMs;
    return agoMs >= 0 && agoMs < ms;
  }

  /** Error for which it is not known if a kind is served; undefined where it is known. */
  whyUnknown(kindKey: string): unknown {
    if (this.find(kindKey)) return undefined;
    return this.#unfound.has(kindKey) ? this.#unfound.get(kindKey) : new Error('its API has not been looked for yet');
  }

  /** Why the server that serves a kind's group is away, where it is another one than the API server; undefined where nothing says so. */
  async whyAway(kindKey: string): Promise<string | undefined> {
    const [group = '', version = ''] = kindKey.split('/');
    if (group === '') return undefined;
    const name = `${version}.${group}`;
    const path = `/apis/apiregistration.k8s.io/v1/apiservices/${encodeURIComponent(name)}`;
    // without the right to read it the words are left out
    const { data } = ApiService.safeParse(await this.#client.request('GET', path).catch(() => undefined));
    const away = data?.spec.service && data.status?.conditions?.find(({ type, status }) => type === 'Available' && status !== 'True');
    return away ? `APIService ${name} is not available: ${[away.reason, away.message].filter(Boolean).join(': ')}` : undefined;
  }

  async #servedVersions(): Promise<ReadonlySet<string>> {
    const { groups } = GroupList.parse(await this.#client.request('GET', '/apis'));
    return new Set(['/v1', ...groups.flatMap(({ name, versions }) => versions.map(({ version }) => `${name}/${version}`))]);
  }

  async #read(groupAndVersion: string): Promise<void> {
    const [group = '', version = ''] = groupAndVersion.split('/');
    for (const served of await readServedResources(this.#client, group, version))
      this.#builtIn.set(
        `${group}/${version}/${served.kind}`,
        resource(groupVersion(group, version), served.kind, served.plural, served.namespaced, LiveObject),
      );
  }
}

const versionOf = (kindKey: string): string => kindKey.slice(0, kindKey.lastIndexOf('/'));
