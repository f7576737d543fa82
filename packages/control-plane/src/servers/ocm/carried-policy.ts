/** The carrier's decisions about the objects it reads (spec/ocm 3.3): pure. */
import { KubeObject, resource } from '@flotilla/api';
import { Policy } from '@flotilla/api/ocm';
import { z } from 'zod';

const PREFIX = 'policy.open-cluster-management.io/';
/** Most entries of a template's history. */
const HISTORY = 10;

const EventSchema = KubeObject.extend({
  reason: z.string().default(''),
  message: z.string().default(''),
  lastTimestamp: z.string().nullish(),
  involvedObject: z.looseObject({ kind: z.string().optional(), name: z.string().optional(), uid: z.string().optional() }).default({}),
});
/** An event as policy controllers write it: of the core group, about the Policy that owns what they evaluated. */
export type PolicyEvent = z.output<typeof EventSchema>;
export const PolicyEvent = resource('v1', 'Event', 'events', true, EventSchema);

const Template = z.looseObject({
  objectDefinition: z.looseObject({
    apiVersion: z.string(),
    kind: z.string(),
    metadata: z.looseObject({ name: z.string(), labels: z.record(z.string(), z.string()).optional() }),
    spec: z.record(z.string(), z.unknown()).optional(),
  }),
});
type Template = z.output<typeof Template>['objectDefinition'];

/** The objects a policy consists of. What cannot be read is left out: nobody evaluates it, and the policy never complies. */
export const templatesOf = ({ spec }: Policy): Template[] =>
  (spec?.['policy-templates'] ?? []).flatMap((template) => {
    const parsed = Template.safeParse(template);
    return parsed.success ? [parsed.data.objectDefinition] : [];
  });

/** The spoke's copy of a replicated policy. */
export const spokePolicy = ({ metadata, spec }: Policy): KubeObject => ({
  apiVersion: Policy.apiVersion,
  kind: Policy.kind,
  metadata: {
    name: metadata.name,
    namespace: metadata.namespace,
    ...(metadata.labels && { labels: metadata.labels }),
    ...(metadata.annotations && { annotations: metadata.annotations }),
  },
  spec,
});

/** Object that the spoke evaluates for one template. The policy's copy there owns it, and the copy's action wins over its own. */
export function evaluatedObject(policy: Policy, { apiVersion, kind, metadata, spec }: Template): KubeObject {
  const { name, namespace = '', uid } = policy.metadata;
  const action = policy.spec?.remediationAction;
  return {
    apiVersion,
    kind,
    metadata: {
      name: metadata.name,
      namespace,
      labels: {
        ...metadata.labels,
        [`${PREFIX}policy`]: name,
        [`${PREFIX}cluster-name`]: namespace,
        [`${PREFIX}cluster-namespace`]: namespace,
      },
      ownerReferences: [{ apiVersion: Policy.apiVersion, kind: Policy.kind, name, uid, controller: true, blockOwnerDeletion: true }],
    },
    spec: { ...spec, ...(action && { remediationAction: action }) },
  };
}

/** State a message stands for: its beginning decides, in any case. */
function stateOf(message: string): string {
  if (/^compliant/i.test(message)) return 'Compliant';
  return /^pending/i.test(message) ? 'Pending' : 'NonCompliant';
}

/** Status of a replicated policy as its events tell it: the newest of each template counts, as it stands. */
export function carriedStatus(policy: Policy, events: readonly PolicyEvent[]) {
  const details = templatesOf(policy).map(({ metadata: { name } }) => {
    const reason = `policy: ${policy.metadata.namespace}/${name}`;
    const history = events
      .filter((event) => event.reason === reason)
      .toSorted(newestFirst)
      .slice(0, HISTORY)
      .map(historyEntry);
    const [newest] = history;
    return { templateMeta: { name }, ...(newest && { compliant: stateOf(newest.message), history }) };
  });
  const compliant = rollUp(details.map((detail) => detail.compliant));
  return { ...(compliant && { compliant }), details };
}

const historyEntry = ({ lastTimestamp, message, metadata }: PolicyEvent) => ({
  lastTimestamp: lastTimestamp ?? metadata.creationTimestamp ?? '',
  message,
  eventName: metadata.name,
});

/** Names end in the nanoseconds of their creation, in hexadecimal: of one length for a century. */
const newestFirst = (a: PolicyEvent, b: PolicyEvent): number => (nanosOf(a) < nanosOf(b) ? 1 : -1);
const nanosOf = ({ metadata }: PolicyEvent): string => metadata.name.slice(metadata.name.lastIndexOf('.') + 1);

function rollUp(states: readonly (string | undefined)[]): string | undefined {
  if (states.includes('NonCompliant')) return 'NonCompliant';
  if (states.includes('Pending')) return 'Pending';
  return states.length > 0 && states.every((state) => state === 'Compliant') ? 'Compliant' : undefined;
}
