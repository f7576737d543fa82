/** Bounded parts of the specs that users write; each states a limit of its CRD, see `limitsOf`. */
import { z } from 'zod';

/** Text of at most `maxLength` characters. */
export const text = (maxLength: number) => z.string().meta({ maxLength });

/** List of at most `maxItems` entries. */
export const list = <T extends z.ZodType>(entry: T, maxItems: number) => z.array(entry).meta({ maxItems });

/** Map of at most `maxProperties` keys. The keys are bounded only by the size of a request: a CRD has no limit for them. */
export const map = <T extends z.ZodType>(value: T, maxProperties: number) => z.record(z.string(), value).meta({ maxProperties });

/** Name of an object or a namespace. */
export const objectName = () => text(253);

/** Key of a label or an annotation: prefix, slash, name. */
export const labelKey = () => text(317);

/** Value of a label. */
export const labelValue = () => text(63);

/** Reference of an image; no program accepts a longer one. */
export const image = () => text(1024);
