/** The digest of a plan, by which an upgrade is bound to what somebody has approved. Pure. */
import { createHash } from 'node:crypto';
import { Annotation } from '@flotilla/api';
import { type ClusterGroupUpgrade, type ClusterGroupUpgradeSpec, cutAtWord, explain, type PrecachingSpec } from '@flotilla/api/ran';
import type { PolicyExamination } from './policies/policies.ts';
import type { Validation } from './validation/validation.ts';

/** The parts that a digest tells apart, in its order, each with what a sentence calls it. */
const PARTS = { batches: 'the batches', images: 'the images to pre-cache', changes: 'what the policies or templates change' } as const;
type Part = keyof typeof PARTS;
const parts: readonly Part[] = ['batches', 'images', 'changes'];

const FORM = /^plan1(?:-[0-9a-f]{16}){3}$/;

/** Parts of a plan that its digest is made of. */
interface Planned {
  readonly batches: readonly (readonly string[])[];
  readonly precaching: { readonly spec?: PrecachingSpec } | undefined;
  readonly policies: Pick<PolicyExamination, 'forUpgrade'>;
}

/**
 * `plan1-` and three times 16 hexadecimal digits: of batches, images, and content of policies or templates. The digest of one part says that it
 * differs without the plan itself being kept.
 */
export function planDigest(
  { batches, precaching, policies }: Planned,
  { manifestWorkTemplates = [] }: Pick<ClusterGroupUpgradeSpec, 'manifestWorkTemplates'>,
  template: (name: string) => { readonly spec?: unknown } | undefined,
): string {
  const content: Record<Part, unknown> = {
    batches,
    images: precaching?.spec ?? {},
    changes: [
      policies.forUpgrade.map(({ name, namespace, objects }) => [namespace, name, objects]),
      manifestWorkTemplates.map((name) => [name, template(name)?.spec]),
    ],
  };
  return ['plan1', ...parts.map((part) => hash(content[part]))].join('-');
}

const hash = (value: unknown): string =>
  createHash('sha256')
    .update(JSON.stringify(sorted(value)))
    .digest('hex')
    .slice(0, 16);

/** The same whatever the order of keys. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .toSorted(([one], [other]) => (one < other ? -1 : 1))
      .map(([key, inner]) => [key, sorted(inner)]),
  );
}

/** The refusal of an upgrade that is bound to another plan. @param digestOf makes the digest of what it would do now, and is asked only where it is bound */
export function findOtherPlan({ metadata }: Pick<ClusterGroupUpgrade, 'metadata'>, digestOf: () => string): Validation | undefined {
  const bound = metadata.annotations?.[Annotation.plan]?.trim();
  const digest = bound === undefined ? undefined : digestOf();
  if (bound === undefined || digest === undefined || bound === digest) return undefined;
  return { status: 'False', reason: 'PlanDiffers', message: explain('PlanDiffers', describe(bound, digest)) };
}

function describe(bound: string, digest: string): string {
  if (!FORM.test(bound)) return `Annotation ${Annotation.plan} is ${JSON.stringify(cutAtWord(bound))}, which is no digest of a plan`;
  const [before, now] = [bound.split('-').slice(1), digest.split('-').slice(1)];
  const changed = parts.filter((_, index) => before[index] !== now[index]).map((part) => PARTS[part]);
  return `The upgrade differs from the plan that was saved: ${changed.join(', ')}; its digest is ${digest} now`;
}
