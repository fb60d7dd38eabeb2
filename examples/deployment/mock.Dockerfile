# #region mock
FROM node:22-slim
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci
USER node
EXPOSE 4010
HEALTHCHECK --interval=5s --timeout=3s CMD ["node", "-e", "fetch('http://127.0.0.1:4010/_mock/v1/health').then((response) => process.exit(response.ok ? 0 : 1), () => process.exit(1))"]
CMD ["node_modules/.bin/workspace-tasks", "mock", "--host", "0.0.0.0", "--port", "4010", "--allow-host", "mock"]
# #endregion
