"""Names that MindSpore 2.10's objects have beyond those that are offered for them here: for `msjax check`."""

from __future__ import annotations

import functools
import importlib

# The class here, and names that MindSpore's has; what msjax has got since is found when a program is checked.
_MEMBERS = {
    "msjax.nn.cell.base.Cell": (
        "IGNORE_LIST T_destination _add_attr _add_init_args _add_mixed_precision_flag _apply _backward_hook "
        "_backward_pre_hook _call_custom_bprop _call_post_process _call_pre_process _cell_tag _check_construct_args "
        "_check_parameter_consistency _children_scope_recursive _complex_call _construct_sig _del_attr _forward_hook "
        "_forward_hook_always_called _forward_hook_with_kwargs _forward_pre_hook _forward_pre_hook_with_kwargs "
        "_get_attr_from_cell _get_cell_parallel_mode _get_compile_args _get_name _get_prims_recursively _init_check "
        "_jit_backward_hook _jit_backward_pre_hook _jit_forward_hook _jit_forward_pre_hook _load_from_state_dict "
        "_load_state_dict_post_hooks _load_state_dict_pre_hooks _mp_comm_recompute _named_members _no_auto_lazy_inline "
        "_non_persistent_buffers_set _parallel_optimizer_comm_recompute _predict _recompute_slice_activation "
        "_run_construct _run_forward_hook _run_forward_pre_hook _run_grad_construct _save_to_state_dict _self_check "
        "_set_attr_for_cell _set_attr_for_object _set_attr_for_param_or_param_tuple "
        "_set_attr_for_parameter_in_list_or_tuple _set_attr_for_params _set_jit_graph_name _set_recompute_scope "
        "_set_scope _state_dict_hooks _state_dict_pre_hooks _update_local_parameters_name _user_parameters "
        "cell_init_args check_names_and_refresh_name compile compile_and_run compile_cache compile_phase compiled "
        "create_time enable_backward_hook exist_names exist_objs generate_scope get_extra_state get_func_graph_proto "
        "get_inputs get_mixed_precision_type get_scope global_cells offload parallel_parameter_merge_net_dict "
        "parameters_broadcast_dict phase_cache pipeline_segment pipeline_stage register_parameter_forward_hook "
        "remove_redundant_parameters run_construct set_boost set_broadcast_flag set_comm_fusion set_data_parallel "
        "set_extra_state set_mixed_precision_type shard to to_empty total_instance_count update_cell_prefix "
        "update_cell_type"
    ),
    "msjax.nn.optim.optimizer.Optimizer": (
        "_build_single_lr _check_group_params _get_parameter_group_id _init_group_params _init_opt_attrs "
        "_order_and_adjust_group_params _parameters_base_check _parse_group_params _preprocess_grad_centralization "
        "_preprocess_single_lr _preprocess_weight_decay _set_base_target _support_parallel_optimizer "
        "_use_parallel_optimizer"
    ),
    "msjax.dataset.dataset.Dataset": (
        "_build_sentencepiece_vocab _build_vocab _check_operator_mixed _check_windows _find_files "
        "_get_absolute_split_sizes _get_operator_id _init_tree_getters _noop_mode _recv _send build_sentencepiece_vocab "
        "copy_batch_size create_ir_tree disable_sync get_init_step get_sync_notifiers input_indexs is_sync "
        "iterator_bootstrap parse parse_tree post_parse pre_parse pre_process prepare_multiprocessing recv send "
        "set_init_step sync_update sync_wait to_json"
    ),
    "msjax.train.model.Model": (
        "_build_boost_network _build_eval_network _build_predict_network _build_train_network _check_amp_level_arg "
        "_check_for_graph_cell _check_kwargs _check_methods_for_custom_callbacks _check_need_ckpt _check_network_mode "
        "_check_reuse_dataset _check_sink_mode_for_ds_debug_mode _clear_metrics _eval_dataset_sink_process "
        "_eval_during_train _eval_in_fit _eval_process _exec_preprocess _flush_from_cache _get_metrics "
        "_get_scaling_sens _infer_train_check _init _predict_lite _process_amp_args _should_eval "
        "_store_training_step_info _train _train_dataset_sink_process _train_process _transform_callbacks "
        "_update_metrics _waiting_for_dataset_warmup_ready _warmup_dataset infer_predict_layout infer_train_layout"
    ),
    "msjax.common.tensor.Tensor": (
        "_convert_scalar_ _data_ptr _dtensor_info _dtype _flush_from_cache _get_user_data _getitem _getitem_origin "
        "_grad_node _has_auto_grad _is_leaf _is_test_stub _item _itemsize _load _make_subclass _nbytes _need_contiguous "
        "_numpy_non_blocking _offload _output_index _remove_hook _requires_grad _retain_grad _retains_grad "
        "_set_user_data _setitem _setitem_origin _shape _shared_host_memory_with_device_ _size _strides _tolist "
        "_update_data _version assign_value_cpp const_arg convert_bytes_to_tensor data_ptr data_sync delete_ delta_seed "
        "flush_from_cache from_dlpack get_bytes getitem_index_info index index_of_parent_ init init_finished init_flag "
        "is_init is_meta is_pinned is_shared move_to offload offload_file_path param_info parent_tensor_ pin_memory "
        "set_cast_dtype set_const_arg set_device_address set_init_flag set_param_info setitem_index_info storage "
        "symbolic_shape to_ to_coo to_csr to_dlpack untyped_storage virtual_flag wait_pipeline"
    ),
    "msjax.common.parameter.Parameter": (
        "_base_type _get_base_class _get_combined_class _get_init_data_args _get_parameter_new_args _raise_type_error "
        "_register_forward_hook _set_data_check_input_valid _update_tensor_data add_pipeline_stage cache_shape key "
        "parallel_optimizer_comm_recompute"
    ),
}


@functools.cache
def _classes() -> dict[type, frozenset[str]]:
    found = {}
    for name, names in _MEMBERS.items():
        module, _, kind = name.rpartition(".")
        found[getattr(importlib.import_module(module), kind)] = frozenset(names.split())
    return found


def lacking(kind: type, name: str) -> type | None:
    """The class, of those from which `kind` derives, whose namesake in MindSpore has a member that `kind` lacks; None for none."""
    if hasattr(kind, name):
        return None
    return next((base for base, names in _classes().items() if issubclass(kind, base) and name in names), None)
