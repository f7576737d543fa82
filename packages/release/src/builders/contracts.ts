import { isJsonObject } from '@flotilla/api';
import { ManifestAnnotation } from '@flotilla/api/config';
import { type Json, objectAt, objectsAt, textAt } from '../json-values.ts';
import { covers } from './covers.ts';

/** An agreement by which a part of an object that the release sets is somebody else's. */
interface Contract {
  /** As docs/version-operator.md names it. */
  readonly name: string;
  /** The object to be written, with what is somebody else's as the live object has it. */
  readonly keep: (live: Json, next: Json) => Json;
  /** It holds for an object that an autoscaler names: no object says that of itself. */
  readonly isForScaled?: true;
}

const annotationsOf = ({ metadata }: Json): Json => objectAt(objectAt(metadata).annotations);

/** Annotations by which a controller is asked for the bundle of a certificate authority; undefined: any value counts. */
const BUNDLE_ASKED: Readonly<Record<string, string | undefined>> = {
  [ManifestAnnotation.injectCaBundle]: 'true',
  'service.alpha.openshift.io/inject-cabundle': 'true',
  'cert-manager.io/inject-ca-from': undefined,
  'cert-manager.io/inject-ca-from-secret': undefined,
  'cert-manager.io/inject-apiserver-ca': 'true',
};

const asksForBundle = (object: Json): boolean => {
  const annotations = annotationsOf(object);
  return Object.entries(BUNDLE_ASKED).some(([key, value]) => key in annotations && (value === undefined || annotations[key] === value));
};

const bundleOf = (owner: unknown): Json => {
  const { caBundle } = objectAt(owner);
  return caBundle === undefined ? {} : { caBundle };
};

/** A webhook that is new has the bundle of the first one until its own comes: without one it refuses everything. */
function keepBundles(live: Json, next: Json): Json {
  if (!asksForBundle(next)) return next;
  const [first, spec, before] = [objectsAt(live.webhooks)[0], objectAt(next.spec), objectAt(live.spec)];
  const conversion = objectAt(spec.conversion);
  const client = (of: unknown) => objectAt(objectAt(objectAt(of).webhook).clientConfig);
  return {
    ...next,
    ...(Array.isArray(next.webhooks) && {
      webhooks: objectsAt(next.webhooks).map((webhook) => {
        const same = objectsAt(live.webhooks).find(({ name }) => name === webhook.name) ?? first;
        return { ...webhook, clientConfig: { ...objectAt(webhook.clientConfig), ...bundleOf(same?.clientConfig) } };
      }),
    }),
    ...(isJsonObject(next.spec) && {
      spec: {
        ...spec,
        ...bundleOf(before),
        ...(conversion.webhook !== undefined && {
          conversion: {
            ...conversion,
            webhook: { ...objectAt(conversion.webhook), clientConfig: { ...client(conversion), ...bundleOf(client(before.conversion)) } },
          },
        }),
      },
    }),
  };
}

/** Annotations of a Secret whose data a controller writes. */
const DATA_GIVEN = [
  'service.beta.openshift.io/originating-service-name',
  'service.alpha.openshift.io/originating-service-name',
  'cert-manager.io/certificate-name',
  'kubernetes.io/service-account.name',
];

function keepData(live: Json, next: Json): Json {
  const [data, before] = [objectAt(next.data), objectAt(live.data)];
  const keys = DATA_GIVEN.some((key) => key in annotationsOf(next))
    ? Object.keys(before)
    : [
        ...(asksForBundle(next) ? ['service-ca.crt'] : []),
        ...(objectAt(objectAt(next.metadata).labels)['config.openshift.io/inject-trusted-cabundle'] === 'true' ? ['ca-bundle.crt'] : []),
      ];
  const given = keys.filter((key) => before[key] !== undefined);
  return given.length === 0 ? next : { ...next, data: { ...data, ...Object.fromEntries(given.map((key) => [key, before[key]])) } };
}

function keepReplicas(live: Json, next: Json): Json {
  const { replicas } = objectAt(live.spec);
  if (replicas === undefined || !isJsonObject(next.spec) || (next.spec.replicas !== undefined && next.spec.replicas !== null)) return next;
  return { ...next, spec: { ...next.spec, replicas } };
}

/** Zero turns an autoscaler off, so that a zero on either side is no number of its. */
function keepScaled(live: Json, next: Json): Json {
  const [{ replicas: before }, { replicas }] = [objectAt(live.spec), objectAt(next.spec)];
  const isScaled = typeof before === 'number' && before > 0 && typeof replicas === 'number' && replicas > 0 && before !== replicas;
  return isScaled ? { ...next, spec: { ...objectAt(next.spec), replicas: before } } : next;
}

/** Kinds whose spec a server completes once, and refuses to have changed afterwards. */
const COMPLETED: ReadonlySet<string> = new Set(['v1/Pod', 'v1/PersistentVolumeClaim', 'v1/PersistentVolume', 'batch/v1/Job']);

const keepCompleted = (live: Json, next: Json): Json =>
  COMPLETED.has(`${textAt(next.apiVersion)}/${textAt(next.kind)}`) ? { ...next, spec: over(live.spec, next.spec) } : next;

/** A value over a live one: keys that it does not have stay, and what says no more than the live one does too. */
function over(live: unknown, wanted: unknown): unknown {
  if (covers(live, wanted)) return live;
  if (!isJsonObject(live) || !isJsonObject(wanted)) return wanted;
  return { ...live, ...Object.fromEntries(Object.entries(wanted).map(([key, value]) => [key, over(live[key], value)])) };
}

/** All agreements; the merge rules of kinds (spec/cvo 3.6) are the only others. */
export const contracts: readonly Contract[] = [
  { name: 'injected CA bundles', keep: keepBundles },
  { name: 'injected data', keep: keepData },
  { name: 'replicas left out', keep: keepReplicas },
  { name: 'scale by an autoscaler', keep: keepScaled, isForScaled: true },
  { name: 'what a server completes', keep: keepCompleted },
];

const keepBy =
  (held: readonly Contract[]) =>
  (live: Json, next: Json): Json =>
    held.reduce((object, { keep }) => keep(live, object), next);

/** The object to be written, with what the contracts give to others. */
export const keepGiven = keepBy(contracts.filter(({ isForScaled }) => !isForScaled));

/** The same for what the contracts give to an autoscaler that names the object; `next` itself where that is nothing. */
export const keepScale = keepBy(contracts.filter(({ isForScaled }) => isForScaled));
