/** Figures by how sure they are. Pure. */
import type { Figure } from '@flotilla/api/answers';

/** A number that is so. */
export const exact = (value: number): Figure => ({ certainty: 'exact', value });
/** A number that is at most so. */
export const atMost = (value: number, why: string): Figure => ({ certainty: 'at-most', value, why });
/** A number that is expected. */
export const forecast = (value: number, why: string): Figure => ({ certainty: 'forecast', value, why });
/** No number. */
export const unknown = (why: string): Figure => ({ certainty: 'unknown', why });
