// A route handler that receives webhooks.

// #region route
import { getReceiver } from "../../receiver";

export const POST = (request: Request) => getReceiver().fetch(request);
// #endregion
