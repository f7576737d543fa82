import { isJsonObject } from '@flotilla/api';
import { isKind, type PolicyObject } from '../policies/policy-structure.ts';
import { quote } from '../values/go-format.ts';

/** A policy as far as its software is concerned. */
export interface SoftwarePolicy {
  readonly name: string;
  readonly objects: readonly PolicyObject[];
  /** A text of it that cannot be read, and why. */
  readonly unread?: string | undefined;
}

/** Values in the order they were found, none twice; or what is wrong with one of them. */
export type SoftwareList = { readonly values: string[]; readonly problem?: undefined } | { readonly problem: string };

const OPERATORS = 'operators.coreos.com';

/** `package:channel` of every Subscription the policies want; a package alone where its catalogue's default channel holds. */
export const readPackages = (policies: readonly SoftwarePolicy[], talmStrict = false): SoftwareList =>
  collect(policies, 'Subscription', (spec, field) => {
    // Neither is set in an object that only waits for a status or approves something.
    if (!isSet(spec.name) && !isSet(spec.channel)) return undefined;
    const name = field('name', 'overrides.operatorsPackagesAndChannels');
    // One without a catalogue only edits what another policy subscribes to.
    if (!talmStrict && !isSet(spec.channel) && isSet(spec.source)) return name;
    const channel = field('channel', 'overrides.operatorsPackagesAndChannels');
    if (name.problem !== undefined) return name;
    return channel.problem !== undefined ? channel : { value: `${name.value}:${channel.value}` };
  });

/** Index image of every CatalogSource the policies want; catalogues that are served from elsewhere have none. */
export const readIndexes = (policies: readonly SoftwarePolicy[]): SoftwareList =>
  collect(policies, 'CatalogSource', (spec, field) => {
    const served = isSet(spec.address) || spec.sourceType === 'configmap' || spec.sourceType === 'internal';
    return served && !isSet(spec.image) ? undefined : field('image', 'overrides.operatorsIndexes');
  });

type Field = { readonly value: string; readonly problem?: undefined } | { readonly problem: string };
type Reader = (spec: Readonly<Record<string, unknown>>, field: (name: string, override: string) => Field) => Field | undefined;

function collect(policies: readonly SoftwarePolicy[], kind: string, read: Reader): SoftwareList {
  const values = new Set<string>();
  for (const { name: policy, objects } of policies) {
    for (const object of objects) {
      const spec = object.definition.spec;
      if (object.mustNotHave || !isKind(object, OPERATORS, kind) || !isJsonObject(spec)) continue;
      const found = read(spec, (name, override) =>
        readField(object, { name, override, value: spec[name], where: `${kind}${titleOf(object)} of policy ${policy}` }),
      );
      if (found?.problem !== undefined) return found;
      if (found) values.add(found.value);
    }
  }
  return { values: [...values] };
}

/** A field that pre-caching needs: set, a text, and known now. */
function readField({ raw }: PolicyObject, at: { name: string; override: string; value: unknown; where: string }): Field {
  const { name, override, value, where } = at;
  if (!isSet(value)) return { problem: `spec.${name} is missing in ${where}; set it, or set ${override} in a PreCachingConfig` };
  if (typeof value !== 'string') return { problem: `spec.${name} is not a text in ${where}; quote it` };
  if (value.includes('{{') || (raw && value.includes('placeholder')))
    return {
      problem: `spec.${name} ${quote(value)} is a template in ${where}, which only the cluster can resolve; set ${override} in a PreCachingConfig`,
    };
  return { value: value.trim() };
}

const isSet = (value: unknown): boolean => value !== undefined && value !== null && value !== '';

const titleOf = ({ definition: { metadata } }: PolicyObject): string =>
  isJsonObject(metadata) && typeof metadata.name === 'string' ? ` ${quote(metadata.name)}` : '';
