import { foreign } from '@flotilla/api';
import { z } from 'zod';

/** A cluster as OCM knows it, as far as an upgrade needs it. */
export const OcmCluster = z.looseObject({
  id: z.string().default(''),
  version: z.looseObject({ channel_group: z.string().default('') }).prefault({}),
  node_drain_grace_period: z.looseObject({ value: z.number().default(0), unit: z.string().default('') }).prefault({}),
});
export type OcmCluster = z.output<typeof OcmCluster>;

/** An upgrade policy that can be read. */
export const OcmPolicy = z.looseObject({
  id: z.string(),
  version: z.string().default(''),
  next_run: z.string().default(''),
  /** Absent means yes. */
  capacity_reservation: z.boolean().default(true),
});
/** An upgrade policy; `problem` says what in it cannot be read, and then nothing of it but its id may be used. */
export type OcmPolicy = z.output<typeof OcmPolicy> & { readonly problem?: string };

/** One that cannot be read is no reason to know nothing of the others. */
export const OcmPolicyOrProblem = z.unknown().transform((item): OcmPolicy => {
  const read = foreign(OcmPolicy).safeParse(item);
  if (read.success) return read.data;
  const { id } = z
    .looseObject({ id: z.string().catch('') })
    .catch({ id: '' })
    .parse(item);
  const issue = read.error.issues[0];
  const problem = `${issue?.path.join('.') || 'it'}: ${issue?.message}`;
  return { id, version: '', next_run: '', capacity_reservation: true, problem };
});

/** State of a policy in OCM. */
export const OcmPolicyState = z.looseObject({ value: z.string(), description: z.string().default('') });
export type OcmPolicyState = z.output<typeof OcmPolicyState>;

/** A page of a list. */
export const pageOf = <T extends z.ZodType>(item: T) =>
  z.looseObject({
    total: z.int().nonnegative(),
    items: z
      .array(item)
      .nullish()
      .transform((items) => items ?? []),
  });

/** Body of a refusal by OCM. */
export const OcmRefusal = z.looseObject({
  id: z.string().default(''),
  code: z.string().default(''),
  reason: z.string().default(''),
  operation_id: z.string().default(''),
});

/** A line in the cluster's history that its owner reads (spec/muo 8.4). */
export interface ServiceLog {
  readonly summary: string;
  readonly description: string;
  readonly docReferences?: readonly string[];
}

/** A service log that was posted. */
export const OcmServiceLog = z.looseObject({
  summary: z.string().default(''),
  description: z.string().default(''),
  timestamp: z.string().optional(),
  created_at: z.string().optional(),
});
