/** One of the values known today, or any other text: the service may add values at any time. @see interface §9 */
export type OpenUnion<Known extends string> = Known | (string & {});
