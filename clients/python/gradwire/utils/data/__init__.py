"""torch.utils.data: data sets, samplers and loaders. Plain Python, all of it in this process."""

from gradwire.utils.data.collate import default_collate as default_collate
from gradwire.utils.data.collate import default_convert as default_convert
from gradwire.utils.data.dataset import ChainDataset as ChainDataset
from gradwire.utils.data.dataset import ConcatDataset as ConcatDataset
from gradwire.utils.data.dataset import Dataset as Dataset
from gradwire.utils.data.dataset import IterableDataset as IterableDataset
from gradwire.utils.data.dataset import StackDataset as StackDataset
from gradwire.utils.data.dataset import Subset as Subset
from gradwire.utils.data.dataset import TensorDataset as TensorDataset
from gradwire.utils.data.dataset import random_split as random_split
from gradwire.utils.data.loader import DataLoader as DataLoader
from gradwire.utils.data.loader import get_worker_info as get_worker_info
from gradwire.utils.data.sampler import BatchSampler as BatchSampler
from gradwire.utils.data.sampler import RandomSampler as RandomSampler
from gradwire.utils.data.sampler import Sampler as Sampler
from gradwire.utils.data.sampler import SequentialSampler as SequentialSampler
from gradwire.utils.data.sampler import SubsetRandomSampler as SubsetRandomSampler
from gradwire.utils.data.sampler import WeightedRandomSampler as WeightedRandomSampler
