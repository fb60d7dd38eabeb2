// A route handler that parses a body.

export const POST = async (request: Request) => Response.json(await request.json());
