"""The admin API: requests of operators and tools, each answered by a future."""

from .api import Admin as Admin
from .checks import as_timeout as as_timeout
from .hooks import AlterConfigPolicy as AlterConfigPolicy
from .hooks import AlterPolicy as AlterPolicy
from .hooks import Authorizer as Authorizer
from .hooks import CreatePolicy as CreatePolicy
from .hooks import Hooks as Hooks
from .results import ALL as ALL
from .results import Results as Results
