/** A POST as `fetch` takes it, with `body` as JSON; a text is sent as it is. */
export const jsonPost = (body: object | string, token?: string) => ({
  method: "POST",
  headers: {
    "content-type": "application/json",
    ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
  },
  body: typeof body === "string" ? body : JSON.stringify(body),
});
