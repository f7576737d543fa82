import { describeWithdrawn } from '../testing/withdrawn-stories.ts';

describeWithdrawn('OSD');
